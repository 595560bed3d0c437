/**
 * gRPC service for assignments of guardrails to keys: list, and add or remove in bulk. A change is answered once all
 * processes enforce it.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  AssignKeysResponseSchema,
  type GuardrailService,
  type KeyAssignment,
  KeyAssignmentSchema,
  ListKeyAssignmentsResponseSchema,
  UnassignKeysResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { isGuardrailId } from "../rules/guardrail.ts";
import { checkKeyHashes } from "../rules/key-hashes.ts";
import { isKeyHash } from "../rules/key.ts";
import { type AssignmentRow, type Bulk, pageOfAssignments } from "../store/assignments.ts";
import { type CommittedBulk, BulkAssignments } from "./bulks.ts";
import { asAdministrator, asReport } from "./caller.ts";
import { pageFields, resolvePage } from "./reports/page.ts";
import type { Deps } from "./deps.ts";

interface BulkRequest {
  readonly guardrailId: string;
  readonly keyHashes: readonly string[];
}

/** Number of assignments in a page when the request gives no limit. */
const defaultPageSize = 50;

export function assignmentMethods(
  deps: Deps,
): Pick<ServiceImpl<typeof GuardrailService>, "assignKeys" | "unassignKeys" | "listKeyAssignments"> {
  const bulks = new BulkAssignments(deps);
  const change = ({ guardrailId, keyHashes }: BulkRequest, verb: Bulk["verb"], context: HandlerContext) =>
    asAdministrator(deps)(context, async (author): Promise<CommittedBulk> => {
      const distinct = checkKeyHashes(keyHashes);
      if (!isGuardrailId(guardrailId)) throw guardrailNotFound();
      const bulk = { author, verb, guardrailId, keyHashes: distinct.filter(isKeyHash) };
      const committed = await bulks.commit(bulk, context.signal);
      if (!committed) throw guardrailNotFound();
      await committed.enforced;
      return committed;
    });
  return {
    listKeyAssignments: ({ guardrailId, ...given }, context) =>
      asReport(deps, "guardrail, and cursor in place of offset")(context, async ({ workspaceId }, database) => {
        const page = resolvePage(given, defaultPageSize);
        if (guardrailId !== undefined && !isGuardrailId(guardrailId)) throw guardrailNotFound();
        const found = await pageOfAssignments(database, { workspaceId, guardrailId }, page);
        if (!found) throw guardrailNotFound();
        const { rows, ...others } = found;
        return create(ListKeyAssignmentsResponseSchema, {
          assignments: rows.map(assignmentOf),
          ...pageFields(others),
        });
      }),
    async assignKeys(request, context) {
      const { count, generation } = await change(request, "assign", context);
      return create(AssignKeysResponseSchema, { assignedCount: count, generation });
    },
    async unassignKeys(request, context) {
      const { count, generation } = await change(request, "unassign", context);
      return create(UnassignKeysResponseSchema, { unassignedCount: count, generation });
    },
  };
}

export const guardrailNotFound = (): Fault => new Fault(FaultReason.NOT_FOUND, "Guardrail not found");

const assignmentOf = (row: AssignmentRow): KeyAssignment =>
  create(KeyAssignmentSchema, {
    id: row.id,
    guardrailId: row.guardrail_id,
    keyHash: row.key_hash,
    keyName: row.key_name,
    keyLabel: row.key_label,
    createdAt: timestampFromDate(row.created_at),
    ...(row.assigned_by !== null && { assignedBy: row.assigned_by }),
  });
