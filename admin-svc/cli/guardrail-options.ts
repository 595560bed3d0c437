/** What a command line says of a guardrail. */
import { parseArgs } from "node:util";
import type { BuiltinFilter, ContentFilter } from "@sluice/proto/contract/content-filters.js";
import type { DetectorRule } from "@sluice/proto/contract/detector-rules.js";
import type { GuardrailSettings } from "@sluice/proto/contract/guardrail-record.js";
import { type FilterActionWord, filterActions } from "@sluice/proto/contract/guardrail-words.js";
import { type GuardrailSettingName, guardrailSettings, unsetGuardrail } from "@sluice/proto/contract/guardrails.js";
import { type JudgeRule, defaultThreshold } from "@sluice/proto/contract/judge-rules.js";
import type { ResetInterval } from "@sluice/proto/contract/records.js";
import { type RoutingPolicyChange, routingPolicyFields } from "@sluice/proto/contract/routing-policy.js";
import { checkGuardrailSettings } from "../rules/guardrail.ts";
import { UsageError, asUsage, exactly, required } from "./command.ts";

const settingNames = Object.keys(unsetGuardrail) as GuardrailSettingName[];
const dashed = (name: string): string => name.replaceAll("_", "-");

/** Settings that are on or off: `--x` and `--no-x`. */
const flagNames = settingNames.filter((name) => typeof unsetGuardrail[name] === "boolean");
/** Settings that are one of a few words: `--x WORD`. */
const wordNames = settingNames.filter((name) => name !== "name" && typeof unsetGuardrail[name] === "string");

export const ruleDetails = [
  "RULES: [--block|--redact|--flag PATTERN [--label LABEL]]... [--no-filters]",
  "       [--judge ACTION=RULE]... [--no-judges]",
  "       [--detector ID:CATEGORY=ACTION]... [--no-detectors]",
  "       [--builtin SLUG=ACTION]... [--no-builtins] [--set FIELD=VALUE[,VALUE]...]...",
  `       ${wordNames.map((name) => `[--${dashed(name)} ${allowedWords(name).join("|")}]`).join(" ")}`,
  `       ${flagNames.map((name) => `[--${dashed(name)} | --no-${dashed(name)}]`).join(" ")}: all keys of the workspace, or of all`,
  "       [--limit USD --limit-reset daily|weekly|monthly | --no-limit]: what each key under it may spend",
  "PATTERN is a regular expression in JavaScript's syntax: no look-around, no back-references.",
  "LABEL belongs to the pattern before it, and is shown instead of it and in the place of what is redacted.",
  "A value that begins with a dash is written --block=-5.",
  "RULE is in words, and judged by the model of the house's role guard_judge.",
  "ID is that of a detector of the house file, CATEGORY one that is given there.",
  "SLUG: email, phone, ssn, credit-card, ip-address, secrets, person-name, address, regex-prompt-injection",
  "      (this one also as regex-prompt-injection=ACTION:user_only). ACTION: block, redact, flag.",
  `FIELD: ${Object.keys(routingPolicyFields).join(", ")}; without a value it is cleared.`,
];

const text = { type: "string" } as const;
const many = { ...text, multiple: true } as const;
const flag = { type: "boolean" } as const;
const options = {
  json: flag,
  name: text,
  description: text,
  block: many,
  redact: many,
  flag: many,
  label: many,
  builtin: many,
  judge: many,
  detector: many,
  set: many,
  ...Object.fromEntries(wordNames.map((name) => [dashed(name), text])),
  ...Object.fromEntries(flagNames.flatMap((name) => [dashed(name), `no-${dashed(name)}`]).map((name) => [name, flag])),
  limit: text,
  "limit-reset": text,
  "no-limit": flag,
  "no-description": flag,
  "no-filters": flag,
  "no-builtins": flag,
  "no-judges": flag,
  "no-detectors": flag,
} as const;

function allowedWords(name: GuardrailSettingName): readonly string[] {
  const { anyOf = [] } = guardrailSettings.fields[name].schema(new Map()) as { anyOf?: { enum?: readonly string[] }[] };
  return anyOf.flatMap((schema) => schema.enum ?? []);
}

const parsed = (args: string[]) => parseArgs({ args, allowPositionals: true, options, tokens: true });
type Parsed = ReturnType<typeof parsed>;

/** @throws UsageError */
export async function readNewGuardrail(args: string[]) {
  const given = parsed(args);
  exactly(given.positionals);
  const rules = rulesOf(given);
  const settings = { ...rules, name: required("--name", given.values.name) };
  const does = [
    rules.content_filters,
    rules.content_filter_builtins,
    rules.judge_rules,
    rules.detectors,
    rules.routing_policy,
    rules.limit_usd,
  ];
  if (does.every((rule) => rule === undefined)) {
    throw new UsageError("missing option: --block, --redact, --flag, --builtin, --judge, --detector, --set or --limit");
  }
  await asUsage(() => checkGuardrailSettings(settings));
  return { settings, asJson: given.values.json === true };
}

/** @throws UsageError */
export async function readChange(args: string[]): Promise<{ id: string; change: GuardrailSettings; asJson: boolean }> {
  const given = parsed(args);
  const { ID: id } = exactly(given.positionals, "ID");
  const change = rulesOf(given);
  if (Object.keys(change).length === 0) throw new UsageError("missing option: what shall be changed");
  await asUsage(() => checkGuardrailSettings(change));
  return { id, change, asJson: given.values.json === true };
}

/** What is not said is absent. */
function rulesOf({ values, tokens }: Parsed): GuardrailSettings {
  const filters = filtersIn(tokens);
  const { builtin = [], judge = [], detector = [], set = [] } = values;
  excludes("--block and --no-filters", filters.length > 0, values["no-filters"]);
  excludes("--builtin and --no-builtins", builtin.length > 0, values["no-builtins"]);
  excludes("--judge and --no-judges", judge.length > 0, values["no-judges"]);
  excludes("--detector and --no-detectors", detector.length > 0, values["no-detectors"]);
  excludes("--description and --no-description", values.description !== undefined, values["no-description"]);
  excludes("--limit and --no-limit", (values.limit ?? values["limit-reset"]) !== undefined, values["no-limit"]);
  return {
    ...(values.name !== undefined && { name: values.name }),
    ...(values.description !== undefined && { description: values.description }),
    ...(values["no-description"] === true && { description: null }),
    ...((filters.length > 0 || values["no-filters"] === true) && { content_filters: filters }),
    ...((builtin.length > 0 || values["no-builtins"] === true) && {
      content_filter_builtins: builtin.map(builtinOf),
    }),
    ...((judge.length > 0 || values["no-judges"] === true) && { judge_rules: judge.map(judgeRuleOf) }),
    ...((detector.length > 0 || values["no-detectors"] === true) && { detectors: detector.map(detectorRuleOf) }),
    // Unknown words are refused with the other problems, by the check of all settings.
    ...(Object.fromEntries(wordNames.flatMap((name) => givenAs(name, wordGiven(values, name)))) as GuardrailSettings),
    ...(Object.fromEntries(flagNames.flatMap((name) => givenAs(name, flagGiven(values, name)))) as GuardrailSettings),
    ...(values.limit !== undefined && { limit_usd: values.limit }),
    ...(values["limit-reset"] !== undefined && { reset_interval: values["limit-reset"] as ResetInterval }),
    ...(values["no-limit"] === true && { limit_usd: null, reset_interval: null }),
    ...(set.length > 0 && { routing_policy: Object.fromEntries(set.map(fieldOf)) as RoutingPolicyChange }),
  };
}

/** Options that stand for a setting each, by their dashed names. */
type SettingValues = Readonly<Record<string, unknown>>;

const wordGiven = (values: SettingValues, name: string): unknown => values[dashed(name)];

function flagGiven(values: SettingValues, name: string): boolean | undefined {
  const option = dashed(name);
  const [on, off] = [values[option] === true, values[`no-${option}`] === true];
  excludes(`--${option} and its opposite`, on, off);
  return on || off ? on : undefined;
}

const givenAs = (name: string, value: unknown): [string, unknown][] => (value === undefined ? [] : [[name, value]]);

function excludes(names: string, one: boolean, other: boolean | undefined): void {
  if (one && other === true) throw new UsageError(`${names} exclude each other`);
}

/** Patterns with their labels, in the order in which they were written. */
function filtersIn(tokens: Parsed["tokens"]): ContentFilter[] {
  const filters: { pattern: string; label: string | null; action: FilterActionWord }[] = [];
  for (const token of tokens) {
    if (token.kind !== "option" || token.value === undefined) continue;
    const action = filterActions.all.find((word) => word === token.name);
    if (action) filters.push({ pattern: token.value, label: null, action });
    if (token.name === "label") addLabel(filters.at(-1), token.value);
  }
  return filters;
}

function addLabel(filter: { label: string | null } | undefined, label: string): void {
  if (!filter) throw new UsageError("--label: comes after the --block, --redact or --flag that it belongs to");
  if (filter.label !== null) throw new UsageError("--label: at most one for each pattern");
  filter.label = label;
}

function builtinOf(given: string): BuiltinFilter {
  const [, slug = given, action = "", scope = null] = /^([^=]*)=([^:]*)(?::(.*))?$/.exec(given) ?? [];
  return { slug, action: action as FilterActionWord, scan_scope: scope as BuiltinFilter["scan_scope"] };
}

function judgeRuleOf(given: string): JudgeRule {
  const [, action = "", rule = given] = /^(block|flag)=(.*)$/s.exec(given) ?? [];
  return { rule, action: action as JudgeRule["action"], threshold: defaultThreshold, label: null };
}

function detectorRuleOf(given: string): DetectorRule {
  const [, detector = given, category = "", action = ""] = /^([^:]*):(.*)=([^=]*)$/s.exec(given) ?? [];
  return { detector, category, action: action as FilterActionWord, threshold: null, label: null };
}

/** `field=a,b`, in the form in which the field is set over HTTP. */
function fieldOf(given: string): [string, unknown] {
  const [, field = given, value = ""] = /^([^=]*)=(.*)$/s.exec(given) ?? [];
  if (!Object.hasOwn(routingPolicyFields, field)) throw new UsageError(`--set: unknown field ${field}`);
  if (value === "") return [field, null];
  const words = value.split(",");
  if (field === "enforce_zdr_groups") return [field, Object.fromEntries(words.map((group) => [group, true]))];
  return [field, /^en(force|able)_/.test(field) ? booleanOf(field, value) : words];
}

function booleanOf(field: string, value: string): boolean {
  if (value !== "true" && value !== "false") throw new UsageError(`--set: ${field} is true or false`);
  return value === "true";
}
