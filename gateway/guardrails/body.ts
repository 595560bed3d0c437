/** Bodies that describe a guardrail, as the messages that carry them. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { BuiltinFilterJson, ContentFilterJson } from "@sluice/proto/contract/content-filters.js";
import type { DetectorRuleJson } from "@sluice/proto/contract/detector-rules.js";
import {
  type AppliesToWord,
  type ErrorPolicyWord,
  type ModeWord,
  appliesTo,
  errorPolicies,
  filterActions,
  modes,
  scanScopes,
} from "@sluice/proto/contract/guardrail-words.js";
import { type JudgeRuleJson, usualThreshold } from "@sluice/proto/contract/judge-rules.js";
import {
  type RoutingPolicyChange,
  routingPolicyFields,
  routingPolicyMessage,
  spelledOut,
} from "@sluice/proto/contract/routing-policy.js";
import type { GuardrailRecordSchema } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { decimalOf } from "@sluice/proto/runtime/money.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";

/** As its shape lets it through. */
interface GuardrailBody {
  readonly name?: string;
  readonly description?: string | null;
  readonly content_filters?: readonly ContentFilterJson[] | null;
  readonly content_filter_builtins?: readonly BuiltinFilterJson[] | null;
  readonly judge_rules?: readonly JudgeRuleJson[] | null;
  readonly detectors?: readonly DetectorRuleJson[] | null;
  readonly applies_to?: AppliesToWord | null;
  readonly mode?: ModeWord | null;
  readonly on_error?: ErrorPolicyWord | null;
  readonly workspace_default?: boolean;
  readonly account_default?: boolean;
  readonly limit_usd?: number | null;
  readonly reset_interval?: string | null;
}

const ownFields: readonly (keyof GuardrailBody)[] = [
  "name",
  "description",
  "content_filters",
  "content_filter_builtins",
  "judge_rules",
  "detectors",
  "applies_to",
  "mode",
  "on_error",
  "workspace_default",
  "account_default",
  "limit_usd",
  "reset_interval",
];

/** What a body says. */
export function saidOf(json: JsonObject): MessageInitShape<typeof GuardrailRecordSchema> {
  const body = json as GuardrailBody;
  const { description } = body;
  return {
    name: body.name ?? "",
    ...(typeof description === "string" && { description }),
    contentFilters: (body.content_filters ?? []).map(({ pattern, action, label }) => ({
      pattern,
      action: filterActions.valueOf(action),
      label: label ?? "",
    })),
    contentFilterBuiltins: (body.content_filter_builtins ?? []).map(({ slug, action, scan_scope: scope }) => ({
      slug,
      action: filterActions.valueOf(action),
      ...(scope && { scanScope: scanScopes.valueOf(scope) }),
    })),
    judgeRules: (body.judge_rules ?? []).map(({ rule, action, threshold, label }) => ({
      rule,
      action: filterActions.valueOf(action),
      threshold: threshold ?? usualThreshold,
      label: label ?? "",
    })),
    detectors: (body.detectors ?? []).map(({ detector, category, action, threshold, label }) => ({
      detector,
      category,
      action: filterActions.valueOf(action),
      ...(typeof threshold === "number" && { threshold }),
      label: label ?? "",
    })),
    ...(body.applies_to && { appliesTo: appliesTo.valueOf(body.applies_to) }),
    ...(body.mode && { mode: modes.valueOf(body.mode) }),
    ...(body.on_error && { onError: errorPolicies.valueOf(body.on_error) }),
    workspaceDefault: body.workspace_default ?? false,
    accountDefault: body.account_default ?? false,
    ...(typeof body.limit_usd === "number" && { limitUsd: decimalOf(body.limit_usd) }),
    resetInterval: body.reset_interval ?? "",
    routingPolicy: routingPolicyMessage(routingOf(json)),
  };
}

/** The fields that a body names, as a mask has them. */
export const namedFields = (json: JsonObject): string[] => [
  ...ownFields.filter((field) => json[field] !== undefined),
  ...Object.keys(routingOf(json)).map((field) => `routing_policy.${field}`),
];

function routingOf(json: JsonObject): RoutingPolicyChange {
  const named = Object.entries(spelledOut(json as RoutingPolicyChange));
  return Object.fromEntries(named.filter(([field]) => Object.hasOwn(routingPolicyFields, field)));
}
