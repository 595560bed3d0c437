/** What messages say of a guardrail, in the form in which it is checked and stored. */
import {
  type FilterActionWord,
  type Words,
  appliesTo,
  errorPolicies,
  filterActions,
  modes,
  scanScopes,
} from "@sluice/proto/contract/guardrail-words.js";
import { usualThreshold } from "@sluice/proto/contract/judge-rules.js";
import type { ResetInterval } from "@sluice/proto/contract/records.js";
import { routingPolicyFields, routingPolicyJson } from "@sluice/proto/contract/routing-policy.js";
import {
  type BuiltinFilter,
  type ContentFilter,
  type DetectorRule as SaidDetectorRule,
  type JudgeRule as SaidRule,
  ScanScope,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type {
  CreateGuardrailRequest,
  GuardrailRecord,
} from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { invalid } from "@sluice/proto/runtime/validation/problems.js";
import type { Builtin, DetectorRule, Filter, GuardrailSettings, JudgeRule } from "../rules/guardrail.ts";
import { masked } from "./mask.ts";

type Said = CreateGuardrailRequest | GuardrailRecord;

/** Every setting by the name that a mask has for it; what was not said is the usual. */
const settings: Readonly<Record<string, (said: Said) => GuardrailSettings>> = {
  name: ({ name }) => ({ name }),
  description: ({ description }) => ({ description: description ?? null }),
  content_filters: ({ contentFilters }) => ({ contentFilters: filtersOf(contentFilters) }),
  content_filter_builtins: ({ contentFilterBuiltins }) => ({ builtins: builtinsOf(contentFilterBuiltins) }),
  judge_rules: ({ judgeRules }) => ({ judgeRules: judgeRulesOf(judgeRules) }),
  detectors: ({ detectors }) => ({ detectors: detectorRulesOf(detectors) }),
  applies_to: (said) => ({ appliesTo: wordOf(appliesTo, said.appliesTo, "applies_to") }),
  mode: (said) => ({ mode: wordOf(modes, said.mode, "mode") }),
  on_error: (said) => ({ onError: wordOf(errorPolicies, said.onError, "on_error") }),
  workspace_default: ({ workspaceDefault }) => ({ workspaceDefault }),
  account_default: ({ accountDefault }) => ({ accountDefault }),
  limit_usd: ({ limitUsd }) => ({ limitUsd: limitUsd ?? null }),
  reset_interval: ({ resetInterval }) => ({
    resetInterval: resetInterval === "" ? null : (resetInterval as ResetInterval),
  }),
};

/** @throws Fault INVALID_REQUEST */
export const settingsOf = (said: Said): GuardrailSettings => ({
  ...Object.assign({}, ...Object.values(settings).map((setting) => setting(said))),
  routing: routingPolicyJson(said.routingPolicy),
});

const policy = "routing_policy.";

/** What the mask names, as null where it is absent. @throws Fault INVALID_REQUEST */
export function maskedSettings(said: GuardrailRecord | undefined, mask: readonly string[]): GuardrailSettings {
  if (!said) return {};
  const own = mask.filter((path) => !path.startsWith(policy));
  const ofPolicy = mask.filter((path) => path.startsWith(policy)).map((path) => path.slice(policy.length));
  const named = Object.entries(settings).map(([name, setting]) => [name, () => setting(said)] as const);
  const change = masked<GuardrailSettings>(own, Object.fromEntries(named));
  return ofPolicy.length === 0 ? change : { ...change, routing: routingOf(said, ofPolicy) };
}

function routingOf(said: GuardrailRecord, fields: readonly string[]): NonNullable<GuardrailSettings["routing"]> {
  const json = routingPolicyJson(said.routingPolicy);
  return Object.fromEntries(
    fields.map((field) => {
      if (Object.hasOwn(routingPolicyFields, field)) return [field, json[field] ?? null];
      throw invalid("update_mask", `unknown field ${policy}${field.slice(0, 64)}`);
    }),
  );
}

const filtersOf = (filters: readonly ContentFilter[]): Filter[] =>
  filters.map(({ pattern, label, action }, index) => ({
    pattern,
    label: label === "" ? null : label,
    action: knownOf(filterActions, action, `content_filters.${index}.action`),
  }));

const builtinsOf = (builtins: readonly BuiltinFilter[]): Builtin[] =>
  builtins.map(({ slug, action, scanScope }, index) => ({
    slug,
    action: knownOf(filterActions, action, `content_filter_builtins.${index}.action`),
    scan_scope:
      scanScope === ScanScope.UNSPECIFIED
        ? null
        : knownOf(scanScopes, scanScope, `content_filter_builtins.${index}.scan_scope`),
  }));

/** A threshold that was not said is 0, at which everything would be broken. */
const judgeRulesOf = (rules: readonly SaidRule[]): JudgeRule[] =>
  rules.map(({ rule, action, threshold, label }, index) => ({
    rule,
    action: judgeAction(knownOf(filterActions, action, `judge_rules.${index}.action`), index),
    threshold: threshold === 0 ? usualThreshold : threshold,
    label: label === "" ? null : label,
  }));

const detectorRulesOf = (rules: readonly SaidDetectorRule[]): DetectorRule[] =>
  rules.map(({ detector, category, action, threshold, label }, index) => ({
    detector,
    category,
    action: knownOf(filterActions, action, `detectors.${index}.action`),
    threshold: threshold ?? null,
    label: label === "" ? null : label,
  }));

function judgeAction(action: FilterActionWord, index: number): JudgeRule["action"] {
  if (action !== "redact") return action;
  throw invalid(`judge_rules.${index}.action`, "must be one of block, flag");
}

function knownOf<Word extends string, Value extends number>(
  words: Words<Word, Value>,
  value: Value,
  path: string,
): Word {
  const word = words.wordOf(value);
  if (word === undefined) throw invalid(path, `must be one of ${words.all.join(", ")}`);
  return word;
}

/** Unspecified is the usual. */
const wordOf = <Word extends string, Value extends number>(
  words: Words<Word, Value>,
  value: Value,
  path: string,
): Word => (value < 1 ? (words.all[0] as Word) : knownOf(words, value, path));
