/** Which key holds which guardrail: listed, assigned and removed in bulk. The answer to a change means that it is in force. */
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
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { isGuardrailId } from "../rules/guardrail.ts";
import { checkKeyHashes } from "../rules/key-hashes.ts";
import {
  type AssignmentRow,
  type BulkResult,
  assignKeys,
  pageOfAssignments,
  unassignKeys,
} from "../store/assignments.ts";
import { administering } from "./caller.ts";
import { untilEnforced } from "./enforcement.ts";
import { pageOf } from "./page.ts";
import type { Parts } from "./parts.ts";

interface BulkRequest {
  readonly guardrailId: string;
  readonly keyHashes: readonly string[];
}

/** Assignments of a page when no limit is given. */
const usualPage = 50;

export function assignmentMethods(
  parts: Parts,
): Pick<ServiceImpl<typeof GuardrailService>, "assignKeys" | "unassignKeys" | "listKeyAssignments"> {
  return {
    listKeyAssignments: ({ guardrailId, offset, limit }, context) =>
      administering(parts)(context, async ({ workspaceId }) => {
        const page = pageOf({ offset, limit }, usualPage);
        if (guardrailId !== undefined && !isGuardrailId(guardrailId)) throw guardrailNotFound();
        const found = await pageOfAssignments(parts.reads, { workspaceId, guardrailId }, page);
        if (!found) throw guardrailNotFound();
        const { rows, total } = found;
        return create(ListKeyAssignmentsResponseSchema, {
          assignments: rows.map(assignmentOf),
          totalCount: BigInt(total),
        });
      }),
    async assignKeys(request, context) {
      const { count, generation } = await runBulk(parts, request, context, assignKeys);
      return create(AssignKeysResponseSchema, { assignedCount: count, generation });
    },
    async unassignKeys(request, context) {
      const { count, generation } = await runBulk(parts, request, context, unassignKeys);
      return create(UnassignKeysResponseSchema, { unassignedCount: count, generation });
    },
  };
}

function runBulk(
  parts: Parts,
  { guardrailId, keyHashes }: BulkRequest,
  context: HandlerContext,
  work: typeof assignKeys,
): Promise<BulkResult> {
  return administering(parts)(context, async (administrator) => {
    const distinct = checkKeyHashes(keyHashes);
    if (!isGuardrailId(guardrailId)) throw guardrailNotFound();
    const result = await work(parts.writes, administrator, { guardrailId, keyHashes: distinct });
    if (!result) throw guardrailNotFound();
    await untilEnforced(parts, administrator, result);
    return result;
  });
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
