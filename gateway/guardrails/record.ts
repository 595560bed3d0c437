/** Guardrails and their assignments in the form in which they are shown. */
import type { GuardrailRecord, KeyAssignment } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import { instant } from "../http/time.ts";

/** Fields of the known shape that cannot be set here. */
const unset = {
  limit_usd: null,
  reset_interval: null,
  include_byok_in_budgets: false,
  allowed_models: null,
  ignored_models: null,
  allowed_providers: null,
  ignored_providers: null,
  enforce_zdr: null,
  enforce_zdr_anthropic: null,
  enforce_zdr_openai: null,
  enforce_zdr_google: null,
  enforce_zdr_xai: null,
  enforce_zdr_other: null,
  enforce_zdr_groups: null,
  enable_paid_model_training: null,
  enable_free_model_training: null,
  enable_free_model_publication: null,
  allowed_data_regions: null,
  content_filter_builtins: null,
};

export function guardrailJson(guardrail: GuardrailRecord | undefined): JsonObject {
  if (!guardrail?.createdAt || !guardrail.updatedAt) throw new Fault(FaultReason.INTERNAL);
  const filters = guardrail.contentFilters.map(({ pattern, label }) => ({
    pattern,
    action: "block",
    label: label === "" ? null : label,
  }));
  return {
    id: guardrail.id,
    name: guardrail.name,
    description: guardrail.description ?? null,
    content_filters: filters.length > 0 ? filters : null,
    ...unset,
    workspace_id: guardrail.workspaceId,
    created_at: instant(guardrail.createdAt),
    updated_at: instant(guardrail.updatedAt),
  };
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
