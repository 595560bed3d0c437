/** The option `--model-limits` of a key or a workspace. */
import type { ModelLimitsJson } from "@sluice/proto/contract/records/model-limits.js";
import { UsageError } from "@sluice/proto/lib/process/cli.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";

export const modelLimitDetails = [
  '--model-limits takes entries of globs and limits, such as \'[{"models": ["openai/*"], "requests_per_minute": 60}]\'.',
] as const;

/**
 * Malformed entries are refused later, by the check of all settings; a limit of null counts as absent. @throws
 * UsageError unless the text is a JSON list
 */
export function readModelLimits(text: string, option: string): ModelLimitsJson | null {
  const entries = readList(text);
  if (entries === undefined) {
    throw new UsageError(
      `${option}: a list of entries in JSON, such as '[{"models": ["openai/*"], "requests_per_minute": 60}]'`,
    );
  }
  if (entries.length === 0) return null;
  return entries.map((entry) =>
    isObject(entry) ? Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null)) : entry,
  ) as unknown as ModelLimitsJson;
}

/** Parses a JSON list; undefined for any other text. */
export function readList(text: string): readonly unknown[] | undefined {
  try {
    const given: unknown = JSON.parse(text);
    return Array.isArray(given) ? given : undefined;
  } catch {
    return undefined;
  }
}
