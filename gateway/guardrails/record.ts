/** Guardrails and their assignments in the form in which they are shown. */
import { builtinPlaceholders } from "@sluice/proto/contract/content-filters.js";
import { appliesTo, errorPolicies, filterActions, modes, scanScopes } from "@sluice/proto/contract/guardrail-words.js";
import { shownRoutingPolicy } from "@sluice/proto/contract/routing-policy.js";
import type {
  BuiltinFilter,
  ContentFilter,
  DetectorRule,
  JudgeRule,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { GuardrailRecord, KeyAssignment } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import { instant } from "../http/time.ts";

export function guardrailJson(guardrail: GuardrailRecord | undefined): JsonObject {
  if (!guardrail?.createdAt || !guardrail.updatedAt) throw new Fault(FaultReason.INTERNAL);
  return {
    id: guardrail.id,
    name: guardrail.name,
    description: guardrail.description ?? null,
    content_filters: orNull(guardrail.contentFilters.map(filterJson)),
    content_filter_builtins: orNull(guardrail.contentFilterBuiltins.map(builtinJson)),
    judge_rules: orNull(guardrail.judgeRules.map(judgeRuleJson)),
    detectors: orNull(guardrail.detectors.map(detectorRuleJson)),
    applies_to: known(appliesTo.wordOf(guardrail.appliesTo)),
    mode: known(modes.wordOf(guardrail.mode)),
    on_error: known(errorPolicies.wordOf(guardrail.onError)),
    workspace_default: guardrail.workspaceDefault,
    account_default: guardrail.accountDefault,
    limit_usd: guardrail.limitUsd === undefined ? null : Number(guardrail.limitUsd),
    reset_interval: guardrail.resetInterval === "" ? null : guardrail.resetInterval,
    include_byok_in_budgets: false,
    ...shownRoutingPolicy(guardrail.routingPolicy),
    workspace_id: guardrail.workspaceId,
    created_at: instant(guardrail.createdAt),
    updated_at: instant(guardrail.updatedAt),
  };
}

const filterJson = ({ pattern, action, label }: ContentFilter): JsonObject => ({
  pattern,
  action: known(filterActions.wordOf(action)),
  label: label === "" ? null : label,
});

const builtinJson = ({ slug, action, scanScope }: BuiltinFilter): JsonObject => {
  const scope = scanScopes.wordOf(scanScope);
  const label = known(builtinPlaceholders[slug]);
  return { slug, action: known(filterActions.wordOf(action)), label, ...(scope && { scan_scope: scope }) };
};

const judgeRuleJson = ({ rule, action, threshold, label }: JudgeRule): JsonObject => ({
  rule,
  action: known(filterActions.wordOf(action)),
  threshold,
  label: label === "" ? null : label,
});

const detectorRuleJson = ({ detector, category, action, threshold, label }: DetectorRule): JsonObject => ({
  detector,
  category,
  action: known(filterActions.wordOf(action)),
  threshold: threshold ?? null,
  label: label === "" ? null : label,
});

const orNull = (list: JsonObject[]): JsonObject[] | null => (list.length > 0 ? list : null);

/** A newer admin-svc may say what has no word here. */
function known<Value>(word: Value | undefined): Value {
  if (word === undefined) throw new Fault(FaultReason.INTERNAL);
  return word;
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
