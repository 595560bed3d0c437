/** The option of a workspace for budgets by tag. */
import { type TagBudgetsJson, storedTagBudgets } from "@sluice/proto/contract/records/tag-budgets.js";
import { UsageError } from "@sluice/proto/lib/process/cli.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { readList } from "./model-limit-option.ts";

const form = '[{"tag": "project", "value": "*", "limit": 100, "limit_reset": "monthly"}]';

export const tagBudgetDetails = [`--tag-budgets takes entries such as '${form}'; the value * is each value.`] as const;

/**
 * Malformed entries are refused later, by the check of all settings. @throws UsageError unless the text is a JSON list
 */
export function readTagBudgets(text: string, option: string): TagBudgetsJson | null {
  const entries = readList(text);
  if (entries === undefined) throw new UsageError(`${option}: a list of entries in JSON, such as '${form}'`);
  return entries.every(isObject) && entries.every(hasKnownFields)
    ? storedTagBudgets(entries)
    : (entries as unknown as TagBudgetsJson);
}

const known = new Set(["tag", "value", "limit", "limit_reset"]);
const hasKnownFields = (entry: object): boolean => Object.keys(entry).every((name) => known.has(name));
