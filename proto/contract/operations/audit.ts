/** Operations on the audit log. */
import { AuditService } from "../../gen/sluice/admin/v1/audit_service_pb.ts";
import { auditEntryExample, auditStateExample } from "../examples/audit.ts";
import {
  auditList,
  auditQuery,
  auditStateList,
  auditStateQuery,
  toTimestamp,
  toAuditEntryJson,
  toAuditStateJson,
} from "../records/audit.ts";
import { toCursorJson } from "../records/record-shapes.ts";
import { forwarded } from "./forward.ts";
import { example, json, operation, reportStatuses } from "./operation.ts";

const { method } = AuditService;
const shared = { method: "get", tag: "Administration", key: "management", statuses: reportStatuses() } as const;
const scope = "A management key of the account sees those of every workspace, any other those of its own.";

const listAudit = forwarded(
  operation({
    ...shared,
    path: "/audit",
    summary: "List changes by administrators",
    description: `The entries of the audit log, latest first, with what was there before and after. ${scope} A page may hold fewer than \`limit\` where entries are large.`,
    query: auditQuery,
    answer: {
      description: "A page of entries.",
      content: [json(auditList, example({ data: [auditEntryExample], next_cursor: null }))],
    },
  }),
  method.listAudit,
  ({ query: { actor, target, action, address, from, to, q: search, cursor, limit, workspace_id: workspaceId } }) => ({
    actor,
    target,
    action,
    address,
    from: toTimestamp(from),
    to: toTimestamp(to),
    search,
    cursor,
    limit,
    workspaceId,
  }),
  ({ entries, nextCursor }) => ({
    data: entries.map(toAuditEntryJson),
    next_cursor: toCursorJson(nextCursor),
  }),
);

const verifyAudit = forwarded(
  operation({
    ...shared,
    path: "/audit/verify",
    summary: "Check the audit log",
    description: `Checks the chain of hashes of the audit log for entries that were changed, removed or inserted after they were written. ${scope} It reads the whole log; \`audit verify\` on the command line has no time limit.`,
    query: auditStateQuery,
    answer: {
      description: "The state of the log.",
      content: [json(auditStateList, example({ data: [auditStateExample] }))],
    },
  }),
  method.verifyAudit,
  ({ query: { workspace_id: workspaceId } }) => ({ workspaceId }),
  ({ states }) => ({ data: states.map(toAuditStateJson) }),
);

export const auditOperations = { listAudit, verifyAudit };
