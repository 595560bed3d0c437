/** Options of the command line for the settings of a key. */
import { UsageError, readArguments } from "@sluice/proto/lib/process/cli.js";
import type { KeySettings } from "@sluice/proto/contract/records/key-record.js";
import { type KeySettingName, keySettingRows } from "@sluice/proto/contract/records/key-settings.js";
import { checkKeySettings } from "../rules/key.ts";
import { readModelLimits } from "./model-limit-option.ts";
import { readPermissions } from "./permission-option.ts";
import { throwAsUsageError, flagOption, jsonOption, textOption } from "./terminal.ts";

interface SettingOption {
  readonly name: KeySettingName;
  readonly option: string;
  /** Option for clearing the setting. */
  readonly clear?: string;
  /** Placeholder for the option's value in the help. */
  readonly value: string;
  readonly read: (text: string, option: string) => unknown;
}

const asText = (given: string): string => given;
const asList = (given: string): string[] => given.split(",").map((entry) => entry.trim());

/**
 * Settings whose option differs from the default: the setting's name, a whole number as value, and `--no-` to clear it.
 */
const exceptions: Readonly<Partial<Record<KeySettingName, Partial<SettingOption> & { readonly fixed?: boolean }>>> = {
  name: { value: "NAME", read: asText, fixed: true },
  expires_at: { value: "TIME", read: expiry, clear: "never-expires" },
  external_user: { value: "USER", read: asText },
  tags: { value: "NAME=VALUE,…", read: asText },
  allowed_networks: { value: "NETWORK,…", read: asList },
  further_guardrails: { value: "ID,…", read: asList },
  limit_usd: { value: "USD", read: asText, option: "limit", clear: "no-limit" },
  limit_reset: { value: "daily|weekly|monthly", read: asText, fixed: true },
  model_limits: { value: "JSON", read: readModelLimits },
  permissions: { value: "JSON", read: readPermissions },
};

/** Boolean settings with their flags for true and false. */
const switches = [
  { name: "disabled", on: "disable", off: "enable" },
  { name: "capture_content", on: "capture-content", off: "no-capture-content" },
  { name: "trace_content", on: "trace-content", off: "no-trace-content" },
] as const;

const settingOptions: readonly SettingOption[] = keySettingRows.flatMap(([name]) => {
  if (switches.some((each) => each.name === name)) return [];
  const option = name.replaceAll("_", "-");
  const { fixed = false, ...exception } = exceptions[name] ?? {};
  return [{ name, option, value: "N", read: wholeNumber, ...(!fixed && { clear: `no-${option}` }), ...exception }];
});

/** Options for a key's settings, as `parseArgs` takes them. */
export const keyOptions = {
  ...Object.fromEntries(settingOptions.map(({ option }) => [option, textOption])),
  "capture-content": flagOption,
  "trace-content": flagOption,
};

/** `keyOptions`, and the options for clearing a setting. */
export const keyChangeOptions = {
  ...keyOptions,
  ...Object.fromEntries(settingOptions.flatMap(({ clear }) => (clear === undefined ? [] : [[clear, flagOption]]))),
  ...Object.fromEntries(switches.flatMap(({ on, off }) => [on, off].map((option) => [option, flagOption]))),
};

const usageOf = ({ option, value, clear }: SettingOption, clears: boolean): string =>
  clears && clear !== undefined ? `[--${option} ${value} | --${clear}]` : `[--${option} ${value}]`;

/** Help text on the optional settings of a new key. */
export const keyUsage = [
  ...settingOptions.filter(({ name }) => name !== "name").map((each) => usageOf(each, false)),
  "[--capture-content]",
  "[--trace-content]",
].join(" ");

export const keyChangeUsage = [
  ...switches.map(({ on, off }) => `[--${on} | --${off}]`),
  ...settingOptions.map((each) => usageOf(each, true)),
].join(" ");

type Given = Readonly<Record<string, string | boolean | undefined>>;

/** Checked settings from the options. @throws UsageError */
export async function readKeySettings(given: Given): Promise<KeySettings> {
  const named = settingOptions.flatMap((each): [string, unknown][] => {
    const value = settingIn(given, each);
    return value === undefined ? [] : [[each.name, value]];
  });
  const switched = switches.flatMap(({ name, on, off }): [string, unknown][] => {
    const value = either(`--${on}`, given[on], `--${off}`, given[off], false);
    return value === undefined ? [] : [[name, value]];
  });
  const settings = Object.fromEntries([...named, ...switched]) as KeySettings;
  await throwAsUsageError(() => checkKeySettings(settings));
  return settings;
}

/** @throws UsageError for a wrong option */
export async function readKeyChange(args: string[]) {
  const { values, named } = readArguments(args, { ...jsonOption, ...keyChangeOptions }, "KEY");
  const change = await readKeySettings(values);
  if (Object.keys(change).length === 0) throw new UsageError("missing option: name what to change");
  return { key: named.KEY, change, asJson: values.json === true };
}

function settingIn(given: Given, { option, clear, read }: SettingOption): unknown {
  const raw = given[option];
  const value = typeof raw === "string" ? read(raw, `--${option}`) : undefined;
  return clear === undefined ? value : either(`--${option}`, value, `--${clear}`, given[clear], null);
}

/**
 * The value of one option, or a fixed value when the other option is given; undefined without either. @throws
 * UsageError when both are given
 */
function either(option: string, value: unknown, other: string, isOther: unknown, otherValue: unknown): unknown {
  if (value !== undefined && isOther === true) throw new UsageError(`${option} and ${other} exclude each other`);
  return isOther === true ? otherValue : value;
}

function wholeNumber(value: string, option: string): number {
  if (!/^\d{1,10}$/.test(value)) throw new UsageError(`${option}: a whole number`);
  return Number(value);
}

function expiry(value: string, option: string): Date {
  const date = new Date(value);
  if (!/^\d{4}-\d{2}-\d{2}(T.+)?$/.test(value) || Number.isNaN(date.getTime())) {
    throw new UsageError(`${option}: an ISO 8601 time, for example 2027-01-31T00:00:00Z`);
  }
  if (date.getTime() <= Date.now()) throw new UsageError(`${option}: must be in the future`);
  return date;
}
