/** Tag budgets of a workspace: each entry sets a budget for one value of a tag, or for every value. */
import { create } from "@bufbuild/protobuf";
import { type TagBudget, type TagBudgets, TagBudgetsSchema } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import { formatDollars } from "../../lib/ledger/money.ts";
import { type JsonObject, isObject } from "../../lib/validation/fields.ts";
import type { Problems } from "../../lib/validation/problems.ts";
import { array, childPath, described, nullable, number, object, word } from "../../lib/validation/shape.ts";
import { type ResetInterval, resetIntervals } from "./record-shapes.ts";
import { tagName, tagValue } from "./tags.ts";

/** The value in an entry that applies to every value of a tag. */
export const eachValue = "*";

/**
 * Maximum number of tag values per workspace that get an individual budget from entries for every value; all further
 * values share one budget.
 */
export const maxTagAccounts = 1_000;

export interface TagBudgetJson {
  readonly tag: string;
  readonly value: string;
  /** Limit in USD. */
  readonly limit: number;
  readonly limit_reset: ResetInterval | null;
}

/** Entries in the order in which they are shown; at least one. */
export type TagBudgetsJson = readonly TagBudgetJson[];

const fields = {
  tag: described(tagName, "Name of the tag."),
  value: described(
    tagValue,
    `Value of the tag. \`${eachValue}\` gives each value a budget of this size, except those with entries of their own; values beyond the first ${maxTagAccounts} share one.`,
  ),
  limit: described(
    number({ min: 0, max: 1_000_000_000 }),
    "What requests with this tag may spend together, in USD. A call that could exceed it is refused with 402.",
  ),
  limit_reset: described(
    nullable(word(...resetIntervals)),
    "When the budget begins anew: at midnight UTC, on Mondays, on the first of the month. Null: never.",
  ),
};
const required = ["tag", "value", "limit"] as const;

function checkDistinct(entries: readonly unknown[], path: string, problems: Problems): void {
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    if (!isObject(entry)) continue;
    const name = JSON.stringify([entry["tag"], entry["value"], entry["limit_reset"] ?? null]);
    if (seen.has(name)) problems.add(childPath(path, index), "another entry has the same value and the same reset");
    seen.add(name);
  }
}

/** Field for the tag budgets of a workspace; null clears them. */
export const tagBudgetsField = described(
  nullable(
    array(object(fields, { required: [...required], strict: true }), { max: 20, entry: "entry", also: checkDistinct }),
  ),
  "Budgets for requests with a tag, all keys together, beside those of key and workspace. Given as a whole. Null: none.",
);

export const shownTagBudgets = described(
  nullable(array(object(fields, { required: Object.keys(fields) }))),
  "Budgets for tags; null: none.",
);

/** The entries with fields in a fixed order; null for none. @param given accepted by its shape */
export function storedTagBudgets(given: unknown): TagBudgetsJson | null {
  if (!Array.isArray(given) || given.length === 0) return null;
  return given.map((entry: JsonObject) => ({
    tag: entry["tag"] as string,
    value: entry["value"] as string,
    limit: entry["limit"] as number,
    limit_reset: (entry["limit_reset"] ?? null) as ResetInterval | null,
  }));
}

/** Converts the entries to a message. */
export const tagBudgetsMessage = (given: TagBudgetsJson): TagBudgets =>
  create(TagBudgetsSchema, {
    entries: given.map(({ tag, value, limit, limit_reset: reset }) => ({
      tag,
      value,
      limitUsd: formatDollars(limit),
      limitReset: reset ?? "",
    })),
  });

/** Converts a message to its entries; null for none. */
export const tagBudgetsJson = (message: TagBudgets | undefined): TagBudgetsJson | null =>
  storedTagBudgets(message?.entries.map(entryJson));

/** Converts an entry of a message. An amount that is not a number stays a text, so its shape refuses it. */
const entryJson = ({ tag, value, limitUsd, limitReset }: TagBudget): JsonObject => ({
  tag,
  value,
  limit: /^\d{1,12}(\.\d{1,12})?$/.test(limitUsd) ? Number(limitUsd) : limitUsd,
  limit_reset: limitReset === "" ? null : limitReset,
});
