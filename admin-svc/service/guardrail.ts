/**
 * gRPC service for guardrails: create, read, change, delete, and assign to keys. A change is answered once all
 * processes enforce it.
 */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { enforcedGuardrail, maskedSettings, storedSettings } from "@sluice/proto/contract/records/guardrail-record.js";
import {
  CheckGuardrailResponseSchema,
  CreateGuardrailRequestSchema,
  CreateGuardrailResponseSchema,
  DeleteGuardrailResponseSchema,
  GetGuardrailResponseSchema,
  type GuardrailService,
  ListGuardrailsResponseSchema,
  PutGuardrailResponseSchema,
  UpdateGuardrailResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { routingPolicyFields } from "@sluice/proto/contract/records/routing-policy.js";
import { checkExternalId } from "../rules/external-id.ts";
import { checkGuardrailSettings, isGuardrailId } from "../rules/guardrail.ts";
import { putByExternalId } from "../store/external-ids.ts";
import {
  type ChangedGuardrail,
  createGuardrail,
  deleteGuardrail,
  findGuardrail,
  pageOfGuardrails,
  updateGuardrail,
} from "../store/guardrails.ts";
import { assignmentMethods, guardrailNotFound } from "./assignment.ts";
import { asAdministrator, asReport, requireOwnWorkspace } from "./caller.ts";
import { untilEnforced } from "./enforcement.ts";
import { findTarget } from "./external-id.ts";
import { enforcedMessage, guardrailMessages, recordMessage } from "./guardrail-record.ts";
import { pageFields, resolvePage } from "./reports/page.ts";
import type { Deps } from "./deps.ts";

/** A change that clears every field of the routing policy. */
const clearedRoutingPolicy = Object.fromEntries(Object.keys(routingPolicyFields).map((field) => [field, null]));

/** Number of guardrails in a page when the request gives no limit. */
const defaultPageSize = 50;

export function guardrailService(deps: Deps): ServiceImpl<typeof GuardrailService> {
  const { reads, writes } = deps;
  const administer = asAdministrator(deps);

  return {
    ...assignmentMethods(deps),
    listGuardrails: ({ workspaceId, ...given }, context) =>
      asReport(deps, "limit, and cursor in place of offset")(context, async (administrator, database) => {
        requireOwnWorkspace(workspaceId, administrator);
        const page = resolvePage(given, defaultPageSize);
        const { rows, ...others } = await pageOfGuardrails(database, administrator.workspaceId, page);
        return create(ListGuardrailsResponseSchema, {
          guardrails: await guardrailMessages(database, rows),
          ...pageFields(others),
        });
      }),
    createGuardrail: (request, context) =>
      administer(context, async (administrator) => {
        requireOwnWorkspace(request.workspaceId, administrator);
        const settings = { ...storedSettings(request), name: request.name };
        await checkGuardrailSettings(settings);
        const made = await createGuardrail(writes, administrator, settings);
        await untilEnforced(deps, administrator, made);
        return create(CreateGuardrailResponseSchema, {
          guardrail: recordMessage(made.row),
          generation: made.generation,
        });
      }),
    getGuardrail: ({ guardrailId, externalId }, context) =>
      administer(context, async ({ workspaceId }) => {
        const id = { workspaceId, kind: "guardrail", externalId } as const;
        const target = await findTarget(reads, id, { guardrail_id: guardrailId });
        const row = isGuardrailId(target) ? await findGuardrail(reads, workspaceId, target) : undefined;
        if (!row) throw guardrailNotFound();
        const [shown] = await guardrailMessages(reads, [row]);
        return create(GetGuardrailResponseSchema, { ...(shown && { guardrail: shown }) });
      }),
    putGuardrail: ({ externalId, guardrail: request = create(CreateGuardrailRequestSchema) }, context) =>
      administer(context, async (administrator) => {
        requireOwnWorkspace(request.workspaceId, administrator);
        checkExternalId(externalId);
        const settings = { ...storedSettings(request), name: request.name };
        await checkGuardrailSettings(settings);
        const id = { workspaceId: administrator.workspaceId, kind: "guardrail", externalId } as const;
        const change = { ...settings, routing_policy: { ...clearedRoutingPolicy, ...settings.routing_policy } };
        const { result, created } = await putByExternalId<ChangedGuardrail>(writes, id, {
          change: (transaction, known) => updateGuardrail(transaction, administrator, known, change),
          make: (transaction) => createGuardrail(transaction, administrator, settings),
          targetOf: ({ row }) => row.id,
        });
        await untilEnforced(deps, administrator, result);
        const { row, generation } = result;
        const changed = result.isUnchanged !== true;
        const [put] = await guardrailMessages(reads, [row]);
        return create(PutGuardrailResponseSchema, { ...(put && { guardrail: put }), created, changed, generation });
      }),
    checkGuardrail: ({ guardrailId, guardrail }, context) =>
      administer(context, async ({ workspaceId }) => {
        if (guardrailId !== "") {
          const row = isGuardrailId(guardrailId) ? await findGuardrail(reads, workspaceId, guardrailId) : undefined;
          if (!row) throw guardrailNotFound();
          return create(CheckGuardrailResponseSchema, { guardrail: enforcedMessage(row) });
        }
        const request = guardrail ?? create(CreateGuardrailRequestSchema);
        const settings = { ...storedSettings(request), name: request.name };
        await checkGuardrailSettings(settings);
        return create(CheckGuardrailResponseSchema, { guardrail: enforcedGuardrail({ ...settings, id: "" }) });
      }),
    updateGuardrail: ({ guardrail, updateMask }, context) =>
      administer(context, async (administrator) => {
        const id = guardrail?.id ?? "";
        if (!isGuardrailId(id)) throw guardrailNotFound();
        const settings = maskedSettings(guardrail, updateMask?.paths ?? []);
        await checkGuardrailSettings(settings);
        const changed = await updateGuardrail(writes, administrator, id, settings);
        if (!changed) throw guardrailNotFound();
        await untilEnforced(deps, administrator, changed);
        const [after] = await guardrailMessages(reads, [changed.row]);
        return create(UpdateGuardrailResponseSchema, {
          ...(after && { guardrail: after }),
          generation: changed.generation,
        });
      }),
    deleteGuardrail: ({ guardrailId }, context) =>
      administer(context, async (administrator) => {
        const change = isGuardrailId(guardrailId)
          ? await deleteGuardrail(writes, administrator, guardrailId)
          : undefined;
        if (!change) throw guardrailNotFound();
        await untilEnforced(deps, administrator, change);
        return create(DeleteGuardrailResponseSchema, { generation: change.generation });
      }),
  };
}
