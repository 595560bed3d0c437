/** Stored guardrails as messages. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { appliesTo, errorPolicies, filterActions, modes, scanScopes } from "@sluice/proto/contract/guardrail-words.js";
import { routingPolicyMessage } from "@sluice/proto/contract/routing-policy.js";
import { type GuardrailRecord, GuardrailRecordSchema } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { ScanScope } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { EnforcedGuardrail } from "../store/access.ts";
import type { GuardrailRow } from "../store/guardrails.ts";

export const recordOf = (row: GuardrailRow): GuardrailRecord =>
  create(GuardrailRecordSchema, {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    ...rulesOf(row),
    workspaceDefault: row.workspace_default,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
    ...(row.description !== null && { description: row.description }),
    ...(row.limit_usd !== null && { limitUsd: row.limit_usd }),
    resetInterval: row.limit_reset ?? "",
  });

/** What is enforced, beside the name. */
export const rulesOf = (row: Omit<EnforcedGuardrail, "id" | "name">) => ({
  contentFilters: row.content_filters.map(({ pattern, label, action }) => ({
    pattern,
    label: label ?? "",
    action: filterActions.valueOf(action),
  })),
  contentFilterBuiltins: row.content_filter_builtins.map(({ slug, action, scan_scope: scope }) => ({
    slug,
    action: filterActions.valueOf(action),
    scanScope: scope === null ? ScanScope.UNSPECIFIED : scanScopes.valueOf(scope),
  })),
  judgeRules: row.judge_rules.map(({ rule, action, threshold, label }) => ({
    rule,
    action: filterActions.valueOf(action),
    threshold,
    label: label ?? "",
  })),
  detectors: row.detectors.map(({ detector, category, action, threshold, label }) => ({
    detector,
    category,
    action: filterActions.valueOf(action),
    ...(threshold !== null && { threshold }),
    label: label ?? "",
  })),
  routingPolicy: routingPolicyMessage(row.routing_policy),
  appliesTo: appliesTo.valueOf(row.applies_to),
  mode: modes.valueOf(row.mode),
  onError: errorPolicies.valueOf(row.on_error),
  accountDefault: row.account_default,
});
