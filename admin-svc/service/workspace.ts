/**
 * gRPC service for workspaces: list, read, create and change. Account-wide management keys may do so for all
 * workspaces; others only read their own.
 */
import { uuidForm } from "@sluice/proto/lib/ids/uuid.js";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { modelLimitsJson, modelLimitsMessage } from "@sluice/proto/contract/records/model-limits.js";
import { tagBudgetsJson, tagBudgetsMessage } from "@sluice/proto/contract/records/tag-budgets.js";
import { permissionsJson, permissionsMessage } from "@sluice/proto/contract/records/permissions.js";
import type { ResetInterval } from "@sluice/proto/contract/records/record-shapes.js";
import {
  CreateWorkspaceResponseSchema,
  GetWorkspaceResponseSchema,
  ListWorkspacesResponseSchema,
  PutWorkspaceResponseSchema,
  UpdateWorkspaceResponseSchema,
  type Workspace,
  WorkspaceSchema,
  type WorkspaceService,
  DeleteWorkspaceResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/workspace_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { checkExternalId } from "../rules/external-id.ts";
import { type WorkspaceSettings, checkWorkspaceSettings } from "../rules/workspace.ts";
import { externalIdsOf, putByExternalId } from "../store/external-ids.ts";
import { workspaceAccounts } from "../store/ledger/spending.ts";
import { defaultWorkspaceId } from "../store/database.ts";
import type { PolicyChange } from "../store/policy.ts";
import {
  type WorkspaceRow,
  createWorkspace,
  deleteWorkspace,
  findWorkspace,
  pageOfWorkspaces,
  updateWorkspace,
} from "../store/workspaces.ts";
import { type Administrator, asAdministrator, readableWorkspace, asReport, requireAccountKey } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { untilEnforced } from "./enforcement.ts";
import { findTarget } from "./external-id.ts";
import { pageFields, resolvePage } from "./reports/page.ts";

type WorkspaceMethods = ServiceImpl<typeof WorkspaceService>;

/** Number of workspaces in a page when the request gives no limit. */
const defaultPageSize = 100;

export const workspaceService = (deps: Deps): WorkspaceMethods => ({ ...readMethods(deps), ...changeMethods(deps) });

function readMethods(deps: Deps): Pick<WorkspaceMethods, "listWorkspaces" | "getWorkspace"> {
  const { reads } = deps;
  const administer = asAdministrator(deps);
  return {
    listWorkspaces: (request, context) =>
      asReport(deps, "limit, and cursor in place of offset")(context, async (administrator, database) => {
        const only = readableWorkspace("", administrator);
        const page = resolvePage(request, defaultPageSize);
        const { rows, ...others } = await pageOfWorkspaces(database, page, { only, deleted: request.deleted });
        return create(ListWorkspacesResponseSchema, {
          workspaces: await workspaceMessages({ reads: database }, rows),
          ...pageFields(others),
        });
      }),
    getWorkspace: ({ workspaceId, externalId }, context) =>
      administer(context, async (administrator) => {
        if (externalId !== "") requireAccountKey(administrator, "read a workspace by an external id");
        const id = { workspaceId: administrator.workspaceId, kind: "workspace", externalId } as const;
        const target = await findTarget(reads, id, { workspace_id: workspaceId });
        const [workspace] = await workspaceMessages(deps, [await findReadable(deps, target, administrator)]);
        return create(GetWorkspaceResponseSchema, { ...(workspace && { workspace }) });
      }),
  };
}

type ChangeMethods = Omit<WorkspaceMethods, "listWorkspaces" | "getWorkspace">;

function changeMethods(deps: Deps): ChangeMethods {
  const { writes } = deps;
  const administer = asAdministrator(deps);
  return {
    createWorkspace: ({ workspace }, context) =>
      administer(context, async (administrator) => {
        requireAccountKey(administrator, "make a workspace");
        const settings = { name: "", ...settingsIn(workspace, Object.keys(columns)) };
        checkWorkspaceSettings(settings);
        const row = await createWorkspace(writes, administrator, settings);
        if (!row) throw nameTaken();
        const [made] = await workspaceMessages(deps, [row]);
        return create(CreateWorkspaceResponseSchema, { ...(made && { workspace: made }) });
      }),
    putWorkspace: ({ externalId, workspace }, context) =>
      administer(context, async (administrator) => {
        requireAccountKey(administrator, "make or change a workspace");
        checkExternalId(externalId);
        const settings = { name: "", ...settingsIn(workspace, Object.keys(columns)) };
        checkWorkspaceSettings(settings);
        const id = { workspaceId: administrator.workspaceId, kind: "workspace", externalId } as const;
        const { result, created } = await putByExternalId<PutWorkspace>(writes, id, {
          change: async (transaction, known) => {
            if (!(await findWorkspace(transaction, known))) return undefined;
            const author = { ...administrator, workspaceId: known };
            const changed = named(await updateWorkspace(transaction, author, settings));
            return { row: changed.row, change: changed };
          },
          make: async (transaction) => ({ row: named(await createWorkspace(transaction, administrator, settings)) }),
          targetOf: ({ row }) => row.id,
        });
        const { row, change } = result;
        if (change) await untilEnforced(deps, { ...administrator, workspaceId: row.id }, change);
        const [put] = await workspaceMessages(deps, [row]);
        const generation = change?.generation ?? 0n;
        const changed = change?.isUnchanged !== true;
        return create(PutWorkspaceResponseSchema, { ...(put && { workspace: put }), created, changed, generation });
      }),
    updateWorkspace: ({ workspace, updateMask }, context) =>
      administer(context, async (administrator) => {
        const { id } = await findReadable(deps, workspace?.id ?? "", administrator);
        requireAccountKey(administrator, "change a workspace");
        const change = settingsIn(workspace, updateMask?.paths ?? []);
        checkWorkspaceSettings(change);
        const changed = await updateWorkspace(writes, { ...administrator, workspaceId: id }, change);
        if (!changed) throw nameTaken();
        await untilEnforced(deps, { ...administrator, workspaceId: id }, changed);
        const [after] = await workspaceMessages(deps, [changed.row]);
        return create(UpdateWorkspaceResponseSchema, {
          ...(after && { workspace: after }),
          generation: changed.generation,
        });
      }),
    deleteWorkspace: ({ workspaceId }, context) =>
      administer(context, async (administrator) => {
        const { id } = await findReadable(deps, workspaceId, administrator);
        requireAccountKey(administrator, "delete a workspace");
        if (id === defaultWorkspaceId) throw new Fault(FaultReason.CONFLICT, "The default workspace cannot be deleted");
        const author = { ...administrator, workspaceId: id };
        const change = await deleteWorkspace(writes, author);
        if (!change) throw new Fault(FaultReason.NOT_FOUND, "Workspace not found");
        await untilEnforced(deps, author, change);
        return create(DeleteWorkspaceResponseSchema, { generation: change.generation });
      }),
  };
}

interface PutWorkspace {
  readonly row: WorkspaceRow;
  /** The policy change; absent for a new workspace, which has no keys. */
  readonly change?: PolicyChange;
}

/** @throws Fault CONFLICT when the name is taken, which rolls back the whole transaction */
function named<Found>(found: Found | undefined): Found {
  if (found === undefined) throw nameTaken();
  return found;
}

const columns: Readonly<Record<string, (workspace: Workspace) => WorkspaceSettings>> = {
  name: ({ name }) => ({ name }),
  limit_usd: ({ limitUsd = null }) => ({ limitUsd }),
  limit_reset: ({ limitReset }) => ({ limitReset: limitReset === "" ? null : (limitReset as ResetInterval) }),
  model_limits: ({ modelLimits }) => ({ modelLimits: modelLimitsJson(modelLimits) }),
  tag_budgets: ({ tagBudgets }) => ({ tagBudgets: tagBudgetsJson(tagBudgets) }),
  permissions: ({ permissions }) => ({ permissions: permissionsJson(permissions) }),
  required_tags: ({ requiredTags }) => ({ requiredTags: requiredTags || null }),
};

/**
 * The settings named by an update mask; a named but unset setting is cleared. @throws Fault INVALID_REQUEST for an
 * unknown name
 */
function settingsIn(workspace: Workspace | undefined, mask: readonly string[]): WorkspaceSettings {
  if (mask.length === 0) throw invalid("body", "at least one field");
  const message = workspace ?? create(WorkspaceSchema);
  const named = mask.map((path) => {
    const read = Object.hasOwn(columns, path) ? columns[path] : undefined;
    if (!read) throw invalid("update_mask", `unknown field ${path.slice(0, 64)}`);
    return read(message);
  });
  return Object.assign({}, ...named) as WorkspaceSettings;
}

/** @throws Fault NOT_FOUND for an unknown workspace, and for one that the administrator may not see */
async function findReadable({ reads }: Deps, id: string, administrator: Administrator): Promise<WorkspaceRow> {
  const only = uuidForm.test(id) ? readableWorkspace(id, administrator) : undefined;
  const row = only === undefined ? undefined : await findWorkspace(reads, only);
  if (row?.id !== id) throw new Fault(FaultReason.NOT_FOUND, "Workspace not found");
  return row;
}

const nameTaken = (): Fault => new Fault(FaultReason.CONFLICT, "Another workspace has this name");

/** Converts workspaces to messages that include their spending and external ids. */
async function workspaceMessages({ reads }: Pick<Deps, "reads">, rows: readonly WorkspaceRow[]): Promise<Workspace[]> {
  const ids = rows.map(({ id }) => id);
  const spent = new Map((await workspaceAccounts(reads, ids)).map(({ id, spent_usd: usd }) => [id, usd]));
  const externalIds = await externalIdsOf(reads, "workspace", ids);
  return rows.map((row) => {
    const externalId = externalIds.get(row.id);
    return create(WorkspaceSchema, {
      id: row.id,
      name: row.name,
      limitReset: row.limit_reset ?? "",
      requiredTags: row.required_tags ?? "",
      spentUsd: spent.get(row.id) ?? "0",
      createdAt: timestampFromDate(row.created_at),
      ...(row.limit_usd !== null && { limitUsd: row.limit_usd }),
      ...(row.model_limits && { modelLimits: modelLimitsMessage(row.model_limits) }),
      ...(row.tag_budgets && { tagBudgets: tagBudgetsMessage(row.tag_budgets) }),
      ...(row.permissions && { permissions: permissionsMessage(row.permissions) }),
      ...(externalId !== undefined && { externalId }),
    });
  });
}
