/** A guardrail during editing. */
import { changedSettings } from "../api/edited.ts";
import type { Guardrail, GuardrailChange } from "./data.ts";

export type Action = "block" | "redact" | "flag";
type Builtin = NonNullable<Guardrail["content_filter_builtins"]>[number]["slug"];

/** Built-in detectors and their findings. */
export const builtins: readonly (readonly [Builtin, string])[] = [
  ["secrets", "Secrets: API keys, tokens, private keys"],
  ["email", "E-mail addresses"],
  ["phone", "Telephone numbers"],
  ["credit-card", "Card numbers"],
  ["ssn", "Social security numbers"],
  ["person-name", "Names of persons"],
  ["address", "Postal addresses"],
  ["ip-address", "IP addresses"],
  ["regex-prompt-injection", "Prompt injection"],
];

export interface PatternDraft {
  readonly pattern: string;
  readonly action: Action;
  readonly label: string;
}

export interface RuleDraft {
  readonly rule: string;
  readonly action: "block" | "flag";
  readonly threshold: string;
}

export interface GuardrailDraft {
  readonly name: string;
  readonly description: string;
  readonly mode: "enforce" | "audit";
  readonly applies: "input" | "output" | "both";
  readonly onError: "closed" | "open";
  readonly message: string;
  readonly builtins: Readonly<Partial<Record<Builtin, Action>>>;
  readonly patterns: readonly PatternDraft[];
  readonly rules: readonly RuleDraft[];
  /** Slugs, separated by line breaks. */
  readonly models: string;
  readonly providers: string;
  readonly europe: boolean;
  readonly us: boolean;
  readonly limit: string;
  readonly reset: string;
  readonly everywhere: boolean;
}

export const newDraft: GuardrailDraft = {
  name: "",
  description: "",
  mode: "enforce",
  applies: "input",
  onError: "closed",
  message: "",
  builtins: {},
  patterns: [],
  rules: [],
  models: "",
  providers: "",
  europe: false,
  us: false,
  limit: "",
  reset: "",
  everywhere: false,
};

export const draftOfGuardrail = (guardrail: Guardrail): GuardrailDraft => ({
  name: guardrail.name,
  description: guardrail.description ?? "",
  mode: guardrail.mode,
  applies: guardrail.applies_to,
  onError: guardrail.on_error,
  message: guardrail.blocked_message ?? "",
  builtins: Object.fromEntries((guardrail.content_filter_builtins ?? []).map(({ slug, action }) => [slug, action])),
  patterns: (guardrail.content_filters ?? []).map((filter) => ({ ...filter, label: filter.label ?? "" })),
  rules: (guardrail.judge_rules ?? []).map(({ rule, action, threshold }) => ({
    rule,
    action,
    threshold: String(threshold),
  })),
  models: (guardrail.allowed_models ?? []).join("\n"),
  providers: (guardrail.allowed_providers ?? []).join("\n"),
  europe: guardrail.allowed_data_regions?.includes("europe") ?? false,
  us: guardrail.allowed_data_regions?.includes("us") ?? false,
  limit: guardrail.limit_usd === null ? "" : String(guardrail.limit_usd),
  reset: guardrail.reset_interval ?? "",
  everywhere: guardrail.workspace_default,
});

/** Settings of the guardrail changed by the draft. */
export const toGuardrailEdits = (draft: GuardrailDraft, before: Guardrail): GuardrailChange =>
  changedSettings(toGuardrailChange(draft, before), toGuardrailChange(draftOfGuardrail(before), before));

/** The whole draft in the API's form, including parts of its settings that the form does not show. */
export function toGuardrailChange(draft: GuardrailDraft, before?: Guardrail): GuardrailChange & { name: string } {
  const scopes = new Map((before?.content_filter_builtins ?? []).map((entry) => [entry.slug, entry.scan_scope]));
  const unmatched = [...(before?.judge_rules ?? [])];
  // Rules with equal text keep their labels in order.
  const labelOf = (text: string): string | null => {
    const at = unmatched.findIndex(({ rule }) => rule === text);
    return at === -1 ? null : (unmatched.splice(at, 1)[0]?.label ?? null);
  };
  const unshown = (before?.allowed_data_regions ?? []).filter((region) => region !== "europe" && region !== "us");
  const regions = [...unshown, ...(draft.europe ? (["europe"] as const) : []), ...(draft.us ? (["us"] as const) : [])];
  return {
    name: draft.name.trim(),
    description: orNull(draft.description.trim()),
    mode: draft.mode,
    applies_to: draft.applies,
    on_error: draft.onError,
    blocked_message: orNull(draft.message.trim()),
    content_filter_builtins: builtins.flatMap(([slug]) => {
      const action = draft.builtins[slug];
      return action ? [{ slug, action, scan_scope: scopes.get(slug) ?? null }] : [];
    }),
    content_filters: draft.patterns.map(({ pattern, action, label }) => ({ pattern, action, label: orNull(label) })),
    judge_rules: draft.rules.map(({ rule, action, threshold }) => ({
      rule,
      action,
      threshold: threshold === "" ? null : Number(threshold),
      label: labelOf(rule),
    })),
    allowed_models: linesIn(draft.models),
    allowed_providers: linesIn(draft.providers),
    allowed_data_regions: regions.length === 0 ? null : regions,
    limit_usd: draft.limit === "" ? null : Number(draft.limit),
    reset_interval: draft.limit === "" || draft.reset === "" ? null : (draft.reset as "daily" | "weekly" | "monthly"),
    workspace_default: draft.everywhere,
  };
}

const orNull = (text: string): string | null => (text === "" ? null : text);

function linesIn(text: string): string[] | null {
  const lines = text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));
  return lines.length === 0 ? null : lines;
}
