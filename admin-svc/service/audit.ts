/** gRPC service for the audit log: lists entries, and checks for later modifications. */
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate, timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AuditEntry,
  AuditEntrySchema,
  type AuditService,
  AuditStateSchema,
  type ListAuditRequest,
  ListAuditResponseSchema,
  VerifyAuditResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/audit_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { readAuditFilter } from "../rules/audit.ts";
import { type AuditState, auditStates } from "../store/audit-check.ts";
import { type AuditRow, listAudit } from "../store/audit-list.ts";
import type { Database } from "../store/database.ts";
import { findWorkspace } from "../store/workspaces.ts";
import { type Administrator, readableWorkspace, asRecordReport } from "./caller.ts";
import type { Deps } from "./deps.ts";
import type { Kysely } from "kysely";
import { resolvePage } from "./reports/page.ts";

/** Number of entries in a page when the request gives no limit. */
const defaultPageSize = 100;

/** Maximum bytes of content in a page: an entry of a bulk change has 30 KB, an entry of a guardrail up to 2 MiB. */
const maxPageBytes = 4 * 1024 * 1024;

export function auditService(deps: Deps): ServiceImpl<typeof AuditService> {
  return {
    listAudit: (request, context) =>
      asRecordReport(deps, "from and to, or another filter")(context, async (administrator, database) => {
        const workspaceId = await meantWorkspace(database, request.workspaceId, administrator);
        const { limit, cursor } = resolvePage({ ...request, offset: 0 }, defaultPageSize);
        const page = { cursor, limit, maxBytes: maxPageBytes };
        const { rows, nextCursor = "" } = await listAudit(database, { ...filterOf(request), ...page, workspaceId });
        return create(ListAuditResponseSchema, {
          entries: rows.map(entryMessage),
          nextCursor,
        });
      }),
    verifyAudit: (request, context) =>
      asRecordReport(deps, "workspace_id, or verify a longer log by `admin audit verify`")(
        context,
        async (administrator, database) => {
          const workspaceId = await meantWorkspace(database, request.workspaceId, administrator);
          const states = await auditStates(database, workspaceId);
          return create(VerifyAuditResponseSchema, { states: states.map(stateMessage) });
        },
      ),
  };
}

/** Id of the workspace named by a request. @throws Fault NOT_FOUND */
async function meantWorkspace(database: Kysely<Database>, given: string, administrator: Administrator) {
  const workspaceId = readableWorkspace(given, administrator);
  if (workspaceId === undefined || workspaceId === administrator.workspaceId) return workspaceId;
  const found = await findWorkspace(database, workspaceId, { deleted: true });
  if (found?.id !== workspaceId) throw new Fault(FaultReason.NOT_FOUND, "Workspace not found");
  return workspaceId;
}

const filterOf = ({ actor, target, action, address, from, to, search }: ListAuditRequest) =>
  readAuditFilter({
    actor: actor === "" ? undefined : actor,
    target: target === "" ? undefined : target,
    action: action === "" ? undefined : action,
    address: address === "" ? undefined : address,
    from: timeText(from),
    to: timeText(to),
    q: search === "" ? undefined : search,
  });

const timeText = (time: Timestamp | undefined): string | undefined => time && timestampDate(time).toISOString();

const entryMessage = (row: AuditRow): AuditEntry =>
  create(AuditEntrySchema, {
    workspaceId: row.workspace_id,
    sequence: BigInt(row.sequence),
    at: preciseTime(row.at_us),
    actor: row.actor,
    action: row.action,
    beforeJson: jsonBytes(row.before),
    afterJson: jsonBytes(row.after),
    hash: row.hash.toString("hex"),
    ...(row.target !== null && { target: row.target }),
    ...(row.target_name !== null && { targetName: row.target_name }),
    ...(row.actor_name !== null && { actorName: row.actor_name }),
    ...(row.request_id !== null && { requestId: row.request_id }),
    ...(row.address !== null && { address: row.address }),
    ...(row.generation !== null && { generation: BigInt(row.generation) }),
    ...(row.erased_at !== null && { erasedAt: timestampFromDate(row.erased_at) }),
  });

const jsonBytes = (value: object | null): Uint8Array =>
  value === null ? new Uint8Array() : Buffer.from(JSON.stringify(value));

function preciseTime(epochUs: string): Timestamp {
  const us = BigInt(epochUs);
  return { ...timestampFromMs(Number(us / 1_000n)), nanos: Number(us % 1_000_000n) * 1_000 };
}

const stateMessage = (state: AuditState) =>
  create(AuditStateSchema, {
    workspaceId: state.workspaceId,
    name: state.name,
    entries: BigInt(state.entries),
    erased: BigInt(state.erased),
    sequence: BigInt(state.sequence),
    head: state.head,
    wrong: state.wrong.map(BigInt),
    unverifiable: state.unverifiable.map(BigInt),
  });
