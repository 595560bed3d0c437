/** What a command line says of a guardrail. */
import { parseArgs } from "node:util";
import type {
  AppliesToWord,
  ErrorPolicyWord,
  FilterActionWord,
  ModeWord,
} from "@sluice/proto/contract/guardrail-words.js";
import { filterActions } from "@sluice/proto/contract/guardrail-words.js";
import { usualThreshold } from "@sluice/proto/contract/judge-rules.js";
import type { ResetInterval } from "@sluice/proto/contract/records.js";
import { type RoutingPolicyChange, routingPolicyFields } from "@sluice/proto/contract/routing-policy.js";
import {
  type Builtin,
  type DetectorRule,
  type Filter,
  type GuardrailSettings,
  type JudgeRule,
  checkGuardrailSettings,
} from "../rules/guardrail.ts";
import { UsageError, asUsage, exactly, required } from "./command.ts";

export const ruleDetails = [
  "RULES: [--block|--redact|--flag PATTERN [--label LABEL]]... [--no-filters]",
  "       [--judge ACTION=RULE]... [--no-judges]",
  "       [--detector ID:CATEGORY=ACTION]... [--no-detectors]",
  "       [--builtin SLUG=ACTION]... [--no-builtins] [--set FIELD=VALUE[,VALUE]...]...",
  "       [--applies-to input|output|both] [--mode enforce|audit] [--on-error closed|open]",
  "       [--workspace-default | --no-workspace-default] [--account-default | --no-account-default]: all keys of the workspace, or of all",
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
  "applies-to": text,
  mode: text,
  "on-error": text,
  "workspace-default": flag,
  "no-workspace-default": flag,
  "account-default": flag,
  "no-account-default": flag,
  limit: text,
  "limit-reset": text,
  "no-limit": flag,
  "no-description": flag,
  "no-filters": flag,
  "no-builtins": flag,
  "no-judges": flag,
  "no-detectors": flag,
} as const;

const parsed = (args: string[]) => parseArgs({ args, allowPositionals: true, options, tokens: true });
type Parsed = ReturnType<typeof parsed>;

/** @throws UsageError */
export async function readNewGuardrail(args: string[]) {
  const given = parsed(args);
  exactly(given.positionals);
  const rules = rulesOf(given);
  const settings = { ...rules, name: required("--name", given.values.name) };
  const { contentFilters, builtins, judgeRules, detectors, routing, limitUsd } = rules;
  if ((contentFilters ?? builtins ?? judgeRules ?? detectors ?? routing ?? limitUsd) === undefined) {
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
  const isDefault = eitherOf(values, "workspace-default");
  const isOfAccount = eitherOf(values, "account-default");
  return {
    ...(values.name !== undefined && { name: values.name }),
    ...(values.description !== undefined && { description: values.description }),
    ...(values["no-description"] === true && { description: null }),
    ...((filters.length > 0 || values["no-filters"] === true) && { contentFilters: filters }),
    ...((builtin.length > 0 || values["no-builtins"] === true) && { builtins: builtin.map(builtinOf) }),
    ...((judge.length > 0 || values["no-judges"] === true) && { judgeRules: judge.map(judgeRuleOf) }),
    ...((detector.length > 0 || values["no-detectors"] === true) && { detectors: detector.map(detectorRuleOf) }),
    // Words that mean nothing are refused with the other problems.
    ...(values["applies-to"] !== undefined && { appliesTo: values["applies-to"] as AppliesToWord }),
    ...(values.mode !== undefined && { mode: values.mode as ModeWord }),
    ...(values["on-error"] !== undefined && { onError: values["on-error"] as ErrorPolicyWord }),
    ...(isDefault !== undefined && { workspaceDefault: isDefault }),
    ...(isOfAccount !== undefined && { accountDefault: isOfAccount }),
    ...(values.limit !== undefined && { limitUsd: values.limit }),
    ...(values["limit-reset"] !== undefined && { resetInterval: values["limit-reset"] as ResetInterval }),
    ...(values["no-limit"] === true && { limitUsd: null, resetInterval: null }),
    ...(set.length > 0 && { routing: Object.fromEntries(set.map(fieldOf)) as RoutingPolicyChange }),
  };
}

/** Of a flag and its opposite. */
function eitherOf(values: Parsed["values"], name: "workspace-default" | "account-default"): boolean | undefined {
  excludes(`--${name} and its opposite`, values[name] === true, values[`no-${name}`]);
  return values[name] ?? (values[`no-${name}`] === true ? false : undefined);
}

function excludes(names: string, one: boolean, other: boolean | undefined): void {
  if (one && other === true) throw new UsageError(`${names} exclude each other`);
}

/** Patterns with their labels, in the order in which they were written. */
function filtersIn(tokens: Parsed["tokens"]): Filter[] {
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

function builtinOf(given: string): Builtin {
  const [, slug = given, action = "", scope = null] = /^([^=]*)=([^:]*)(?::(.*))?$/.exec(given) ?? [];
  return { slug, action: action as FilterActionWord, scan_scope: scope as Builtin["scan_scope"] };
}

function judgeRuleOf(given: string): JudgeRule {
  const [, action = "", rule = given] = /^(block|flag)=(.*)$/s.exec(given) ?? [];
  return { rule, action: action as JudgeRule["action"], threshold: usualThreshold, label: null };
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
