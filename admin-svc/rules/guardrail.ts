/** What a guardrail may be made of. */
import type {
  AppliesToWord,
  ErrorPolicyWord,
  FilterActionWord,
  ModeWord,
  ScanScopeWord,
} from "@sluice/proto/contract/guardrail-words.js";
import { guardrailSettings } from "@sluice/proto/contract/guardrails.js";
import type { ResetInterval } from "@sluice/proto/contract/records.js";
import type { RoutingPolicyChange } from "@sluice/proto/contract/routing-policy.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import { amountOf } from "./amount.ts";
import { complaintsAbout } from "./patterns.ts";

const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Any other text names no guardrail, so the database is not asked. */
export const isGuardrailId = (id: string): boolean => form.test(id);

/** A rule as its author writes it. */
export interface Filter {
  readonly pattern: string;
  /** Shown instead of the pattern. */
  readonly label: string | null;
  readonly action: FilterActionWord;
}

/** A rule that is built in. */
export interface Builtin {
  readonly slug: string;
  readonly action: FilterActionWord;
  /** Null: everything that a model reads. */
  readonly scan_scope: ScanScopeWord | null;
}

/** A rule in words. */
export interface JudgeRule {
  readonly rule: string;
  readonly action: "block" | "flag";
  /** 0 to 1. */
  readonly threshold: number;
  readonly label: string | null;
}

/** What a service beside the house looks for. */
export interface DetectorRule {
  readonly detector: string;
  readonly category: string;
  readonly action: FilterActionWord;
  /** 0.01 to 1; null: the detector's own. */
  readonly threshold: number | null;
  readonly label: string | null;
}

/** What an administrator decides about a guardrail; what is absent stays as it is. */
export interface GuardrailSettings {
  readonly name?: string;
  readonly description?: string | null;
  readonly contentFilters?: readonly Filter[];
  readonly builtins?: readonly Builtin[];
  readonly judgeRules?: readonly JudgeRule[];
  readonly detectors?: readonly DetectorRule[];
  readonly appliesTo?: AppliesToWord;
  readonly mode?: ModeWord;
  readonly onError?: ErrorPolicyWord;
  readonly workspaceDefault?: boolean;
  readonly accountDefault?: boolean;
  /** USD, decimal: what each key under it may spend. Null: any amount. */
  readonly limitUsd?: string | null;
  /** Set with it. */
  readonly resetInterval?: ResetInterval | null;
  /** By the names of the JSON form; null clears. */
  readonly routing?: RoutingPolicyChange;
}

/** @throws Fault INVALID_REQUEST with every problem, under the names of the JSON form */
export async function checkGuardrailSettings(settings: GuardrailSettings): Promise<void> {
  const { contentFilters = [] } = settings;
  checked((problems) => {
    guardrailSettings.check(jsonOf(settings), "", problems);
    if (whatBecomesOf(settings.limitUsd) !== whatBecomesOf(settings.resetInterval)) {
      problems.add("reset_interval", "goes together with limit_usd: both, or neither");
    }
  });
  // What is not even a text of the right length is not compiled.
  const complaints = await complaintsAbout(contentFilters.map(({ pattern }) => pattern));
  checked((problems) => {
    complaints.forEach((text, index) => text !== null && problems.add(`content_filters.${index}.pattern`, text));
  });
}

/** Undefined: it stays; null: it is cleared. */
const whatBecomesOf = (value: string | null | undefined) => (typeof value === "string" ? "set" : value);

const jsonOf = ({
  name,
  description,
  contentFilters,
  builtins,
  judgeRules,
  detectors,
  appliesTo,
  mode,
  onError,
  ...more
}: GuardrailSettings) => ({
  name,
  description,
  content_filters: contentFilters,
  content_filter_builtins: builtins,
  judge_rules: judgeRules,
  detectors,
  applies_to: appliesTo,
  mode,
  on_error: onError,
  workspace_default: more.workspaceDefault,
  account_default: more.accountDefault,
  limit_usd: typeof more.limitUsd === "string" ? amountOf(more.limitUsd) : more.limitUsd,
  reset_interval: more.resetInterval,
  ...more.routing,
});
