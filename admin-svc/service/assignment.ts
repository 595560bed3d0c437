/** Bulk assignment and removal: the answer means that the change is in force. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  AssignKeysResponseSchema,
  type GuardrailService,
  UnassignKeysResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { isGuardrailId } from "../rules/guardrail.ts";
import { checkKeyHashes } from "../rules/key-hashes.ts";
import { type BulkResult, assignKeys, unassignKeys } from "../store/assignments.ts";
import { administering } from "./caller.ts";
import type { Parts } from "./parts.ts";

interface BulkRequest {
  readonly guardrailId: string;
  readonly keyHashes: readonly string[];
}

export function assignmentMethods(
  parts: Parts,
): Pick<ServiceImpl<typeof GuardrailService>, "assignKeys" | "unassignKeys"> {
  return {
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
  return administering(parts)(context, async ({ workspaceId }) => {
    const distinct = checkKeyHashes(keyHashes);
    if (!isGuardrailId(guardrailId)) throw guardrailNotFound();
    const result = await work(parts.writes, { workspaceId, guardrailId, keyHashes: distinct });
    if (!result) throw guardrailNotFound();
    await parts.policy.enforced(result);
    return result;
  });
}

export const guardrailNotFound = (): Fault => new Fault(FaultReason.NOT_FOUND, "Guardrail not found");
