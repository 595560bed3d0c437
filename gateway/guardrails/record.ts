/** Guardrails and their assignments in the form in which they are shown. */
import { shownGuardrail } from "@sluice/proto/contract/guardrail-record.js";
import { guardrail as guardrailShape } from "@sluice/proto/contract/guardrails.js";
import type { GuardrailRecord, KeyAssignment } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { instant } from "@sluice/proto/runtime/instant.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import { published } from "../http/administration.ts";

export function guardrailJson(guardrail: GuardrailRecord | undefined): JsonObject {
  if (!guardrail) throw new Fault(FaultReason.INTERNAL);
  return published(shownGuardrail(guardrail), guardrailShape);
}

export function assignmentJson(assignment: KeyAssignment): JsonObject {
  if (!assignment.createdAt) throw new Fault(FaultReason.INTERNAL);
  return {
    id: assignment.id,
    guardrail_id: assignment.guardrailId,
    key_hash: assignment.keyHash,
    key_name: assignment.keyName,
    key_label: assignment.keyLabel,
    assigned_by: assignment.assignedBy ?? null,
    created_at: instant(assignment.createdAt),
  };
}
