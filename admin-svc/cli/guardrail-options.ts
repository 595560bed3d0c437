/** Options of the command line for the settings of a guardrail. */
import { UsageError, namedArguments, requiredOption } from "@sluice/proto/lib/process/cli.js";
import { parseArgs } from "node:util";
import {
  type BuiltinFilter,
  type ContentFilter,
  injectionSlug,
} from "@sluice/proto/contract/records/content-filters.js";
import type { DetectorRule } from "@sluice/proto/contract/records/detector-rules.js";
import type { GuardrailSettings } from "@sluice/proto/contract/records/guardrail-record.js";
import { type FilterActionWord, filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import {
  type GuardrailSettingName,
  guardrailSettings,
  unsetGuardrail,
} from "@sluice/proto/contract/records/guardrails.js";
import { type JudgeRule, defaultThreshold } from "@sluice/proto/contract/records/judge-rules.js";
import { routingPolicyFields } from "@sluice/proto/contract/records/routing-policy.js";
import { checkGuardrailSettings } from "../rules/guardrail.ts";
import { columnOf } from "../store/guardrail-columns.ts";
import { throwAsUsageError, flagOption, textOption } from "./terminal.ts";

const settingNames = Object.keys(unsetGuardrail) as GuardrailSettingName[];
const dashed = (name: string): string => name.replaceAll("_", "-");

/** Boolean settings; their options are `--x` and `--no-x`. */
const flagNames = settingNames.filter((name) => typeof unsetGuardrail[name] === "boolean");
/** Settings whose value is one of a few words; their option is `--x WORD`. */
const wordNames = settingNames.filter((name) => name !== "name" && typeof unsetGuardrail[name] === "string");

/** Settings with a single value; the name of the option is that of the database column. */
const valueNames = settingNames.filter(
  (name) => !Array.isArray(unsetGuardrail[name]) && typeof unsetGuardrail[name] !== "boolean",
);
const optionOf = (name: GuardrailSettingName): string => (name === "limit_usd" ? "limit" : dashed(columnOf(name)));

const limitNames: readonly GuardrailSettingName[] = ["limit_usd", "reset_interval"];

/** Option for clearing a setting; --no-limit clears the limit together with its reset interval. */
const clearOptionOf = (name: GuardrailSettingName): string =>
  limitNames.includes(name) ? "no-limit" : `no-${optionOf(name)}`;
const nullableNames = settingNames.filter((name) => unsetGuardrail[name] === null);
const textNames = nullableNames.filter((name) => !limitNames.includes(name));

interface ListSetting {
  readonly name: GuardrailSettingName;
  /** Option that adds an entry to the list. */
  readonly adds: string;
  /** Option that clears the list. */
  readonly clears: string;
  readonly read: (given: Parsed) => readonly unknown[];
}

const listSettings: readonly ListSetting[] = [
  { name: "content_filters", adds: "block", clears: "no-filters", read: ({ tokens }) => filtersIn(tokens) },
  {
    name: "content_filter_builtins",
    adds: "builtin",
    clears: "no-builtins",
    read: ({ values: { builtin = [] } }) => builtin.map(builtinOf),
  },
  {
    name: "judge_rules",
    adds: "judge",
    clears: "no-judges",
    read: ({ values: { judge = [] } }) => judge.map(judgeRuleOf),
  },
  {
    name: "detectors",
    adds: "detector",
    clears: "no-detectors",
    read: ({ values: { detector = [] } }) => detector.map(detectorRuleOf),
  },
];

/** Settings with an effect on requests: a guardrail needs at least one of them. */
const rules: readonly string[] = [...listSettings.map(({ name }) => name), "routing_policy", "limit_usd"];

/** Options for adding a pattern, one for each action. */
const patternOptions = filterActions.all.map((action) => `--${action}`);

export const ruleDetails = [
  `RULES: [${patternOptions.join("|")} PATTERN [--label LABEL]]... [--no-filters]`,
  "       [--judge ACTION=RULE]... [--no-judges]",
  "       [--detector ID:CATEGORY=ACTION]... [--no-detectors]",
  "       [--builtin SLUG=ACTION]... [--no-builtins] [--set FIELD=VALUE[,VALUE]...]...",
  `       ${wordNames.map((name) => `[--${dashed(name)} ${allowedWords(name).join("|")}]`).join(" ")}`,
  `       ${flagNames.map((name) => `[--${dashed(name)} | --no-${dashed(name)}]`).join(" ")}: all keys of the workspace, or of all`,
  `       ${textNames.map((name) => `[--${optionOf(name)} TEXT | --${clearOptionOf(name)}]`).join(" ")}`,
  "       [--limit USD --limit-reset daily|weekly|monthly | --no-limit]: what each key under it may spend",
  "PATTERN is a regular expression in JavaScript's syntax: no look-around, no back-references.",
  "LABEL belongs to the pattern before it; it is shown instead of the pattern, and replaces redacted text.",
  "A value that begins with a dash is written --block=-5.",
  "RULE is in words; the model of the role guard_judge judges it.",
  "ID names a detector of the configuration file, CATEGORY one of its categories.",
  "SLUG: email, phone, ssn, credit-card, ip-address, secrets, person-name, address, regex-prompt-injection",
  `      (this one also as ${injectionSlug}=ACTION:user_only). ACTION: ${filterActions.all.join(", ")}.`,
  `FIELD: ${Object.keys(routingPolicyFields).join(", ")}; without a value it is cleared.`,
];

const many = { ...textOption, multiple: true } as const;
const options = {
  json: flagOption,
  name: textOption,
  label: many,
  builtin: many,
  judge: many,
  detector: many,
  set: many,
  ...(Object.fromEntries(filterActions.all.map((action) => [action, many])) as Record<FilterActionWord, typeof many>),
  ...Object.fromEntries(valueNames.map((name) => [optionOf(name), textOption])),
  ...Object.fromEntries(nullableNames.map((name) => [clearOptionOf(name), flagOption])),
  ...Object.fromEntries(listSettings.map(({ clears }) => [clears, flagOption])),
  ...Object.fromEntries(
    flagNames.flatMap((name) => [dashed(name), `no-${dashed(name)}`]).map((name) => [name, flagOption]),
  ),
} as const;

function allowedWords(name: GuardrailSettingName): readonly string[] {
  const { anyOf = [] } = guardrailSettings.fields[name].schema(new Map()) as { anyOf?: { enum?: readonly string[] }[] };
  return anyOf.flatMap((schema) => schema.enum ?? []);
}

const parsed = (args: string[]) => parseArgs({ args, allowPositionals: true, options, tokens: true });
type Parsed = ReturnType<typeof parsed>;

/** @throws UsageError for a wrong option, or without any rule */
export async function readNewGuardrail(args: string[]) {
  const given = parsed(args);
  namedArguments(given.positionals);
  const settings = { ...settingsOf(given), name: requiredOption("--name", given.values.name) };
  if (!rules.some((name) => Object.hasOwn(settings, name))) {
    throw new UsageError(
      `missing option: ${patternOptions.join(", ")}, --builtin, --judge, --detector, --set or --limit`,
    );
  }
  await throwAsUsageError(() => checkGuardrailSettings(settings));
  return { settings, asJson: given.values.json === true };
}

/** @throws UsageError for a wrong option */
export async function readGuardrailChange(
  args: string[],
): Promise<{ guardrail: string; change: GuardrailSettings; asJson: boolean }> {
  const given = parsed(args);
  const { GUARDRAIL: guardrail } = namedArguments(given.positionals, "GUARDRAIL");
  const change = settingsOf(given);
  if (Object.keys(change).length === 0) throw new UsageError("missing option: name what to change");
  await throwAsUsageError(() => checkGuardrailSettings(change));
  return { guardrail, change, asJson: given.values.json === true };
}

/** The settings given by options; a setting without an option is absent. */
function settingsOf(given: Parsed): GuardrailSettings {
  const values: SettingValues = given.values;
  const { set = [] } = given.values;
  return Object.fromEntries([
    ...valueNames.flatMap((name) => givenAs(name, valueGiven(values, name))),
    ...listSettings.flatMap((list) => givenAs(list.name, listGiven(given, list))),
    ...flagNames.flatMap((name) => givenAs(name, flagGiven(values, name))),
    ...givenAs("routing_policy", set.length > 0 ? Object.fromEntries(set.map(fieldOf)) : undefined),
  ]);
}

/** Values of the options for single settings, by the name of the option. */
type SettingValues = Readonly<Record<string, unknown>>;

/** Value of an option. An unknown word is refused later, by the check of all settings. */
function valueGiven(values: SettingValues, name: GuardrailSettingName): unknown {
  const clear = clearOptionOf(name);
  const isCleared = nullableNames.includes(name) && values[clear] === true;
  excludes(`--${clear.slice("no-".length)} and --${clear}`, values[optionOf(name)] !== undefined, isCleared);
  return isCleared ? null : values[optionOf(name)];
}

function listGiven(given: Parsed, { adds, clears, read }: ListSetting): readonly unknown[] | undefined {
  const entries = read(given);
  const isCleared = (given.values as SettingValues)[clears] === true;
  excludes(`--${adds} and --${clears}`, entries.length > 0, isCleared);
  return entries.length > 0 || isCleared ? entries : undefined;
}

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

/** Patterns with their labels, in the order of the command line. */
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
  if (!filter) throw new UsageError(`--label: comes after the ${patternOptions.join(" or ")} that it belongs to`);
  if (filter.label !== null) throw new UsageError("--label: at most one for each pattern");
  filter.label = label;
}

function builtinOf(given: string): BuiltinFilter {
  const [, slug = given, action = "", scope = null] = /^([^=]*)=([^:]*)(?::(.*))?$/.exec(given) ?? [];
  return { slug, action: action as FilterActionWord, scan_scope: scope as BuiltinFilter["scan_scope"] };
}

function judgeRuleOf(given: string): JudgeRule {
  const [, action = "", rule = given] = /^([a-z]+)=(.*)$/s.exec(given) ?? [];
  return { rule, action: action as JudgeRule["action"], threshold: defaultThreshold, label: null };
}

function detectorRuleOf(given: string): DetectorRule {
  const [, detector = given, category = "", action = ""] = /^([^:]*):(.*)=([^=]*)$/s.exec(given) ?? [];
  return { detector, category, action: action as FilterActionWord, threshold: null, label: null };
}

/** Parses `field=a,b` into the field and its value in the HTTP interface. */
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
