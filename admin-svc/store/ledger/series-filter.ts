/** SQL for filters of sums, and for the dimensions by which records are summed. */
import {
  type SeriesDimension,
  type SeriesUnit,
  type UsageFilterWords,
  tagOfDimension,
} from "@sluice/proto/contract/records/usage-series.js";
import { parseTags } from "@sluice/proto/lib/turns/tags.js";
import { type RawBuilder, sql } from "kysely";
import { hasTags, inClass } from "./generations.ts";
import { numberOf } from "./names.ts";

/** Filters, with the names of the HTTP interface; an undefined filter matches everything. */
export type SeriesFilter = UsageFilterWords;
type FilterName = keyof SeriesFilter;

export const isFiltered = (filter: SeriesFilter): boolean => Object.values(filter).some((value) => value !== undefined);

/**
 * Whether a dimension or filter belongs to turns: status, guardrail, error and tags do. Then all calls of a turn count
 * with the turn.
 */
export function isByTurn(by: readonly SeriesDimension[], filter: SeriesFilter): boolean {
  const isOfTurn = (name: string): boolean =>
    ["status", "guardrail", "error", "tags"].includes(name) || name.startsWith("tag:");
  return by.some(isOfTurn) || Object.entries(filter).some(([name, value]) => value !== undefined && isOfTurn(name));
}

/**
 * SQL for dimensions in rows of `turns`, `usage_records` and their views; only turns have status, guardrail and error.
 */
const unitValues: Readonly<Record<SeriesUnit, RawBuilder<unknown>>> = {
  key: sql`key_hash`,
  model: sql`model`,
  provider: sql`provider`,
  user: sql`coalesce("user", '')`,
  status: sql`http_status::text`,
  guardrail: sql`coalesce(guardrail_id, '')`,
  door: sql`door`,
  operation: sql`operation`,
  task: sql`coalesce(task, '')`,
  error: sql`case when outcome <> 'completed' then coalesce(provider_error, error_type, '') else '' end`,
};
/** SQL for the value of a tag in rows of `turns` and `ledger`; undefined for a dimension that is no tag. */
function tagValue(dimension: SeriesDimension): RawBuilder<unknown> | undefined {
  const name = tagOfDimension(dimension);
  return name === undefined ? undefined : sql`tags ->> ${name}::text`;
}

/** SQL for a dimension in rows of `usage_records` and `all_calls`. It is never a tag: sums by tag do not read calls. */
export const callValue = (dimension: SeriesDimension): RawBuilder<unknown> => unitValues[dimension as SeriesUnit];

/** SQL for a dimension in rows of `turns`. The model of a turn without calls is the requested model. */
export function turnValue(dimension: SeriesDimension): RawBuilder<unknown> {
  if (dimension === "model") return sql`case when attempts > 0 then model else '' end`;
  const tag = tagValue(dimension);
  return tag === undefined ? callValue(dimension) : sql`coalesce(${tag}, '')`;
}

/** The column of `ledger` for a dimension, and whether it contains numbers of names or texts. */
export function ledgerValue(dimension: SeriesDimension): {
  readonly column: RawBuilder<unknown>;
  readonly isNumber: boolean;
} {
  const number = ledgerNumbers[dimension as SeriesUnit];
  if (number !== undefined) return { column: number, isNumber: true };
  return { column: tagValue(dimension) ?? ledgerTexts[dimension as SeriesUnit] ?? sql`null`, isNumber: false };
}

/** Columns of `ledger` that contain numbers of names; other columns contain texts. */
const ledgerNumbers: Readonly<Partial<Record<SeriesUnit, RawBuilder<unknown>>>> = {
  key: sql`key`,
  model: sql`model`,
  provider: sql`provider`,
  guardrail: sql`guardrail`,
  door: sql`door`,
  operation: sql`operation`,
  task: sql`task`,
  error: sql`case when outcome <> 1 then coalesce(provider_error, error_type) end`,
};
const ledgerTexts: Readonly<Partial<Record<SeriesUnit, RawBuilder<unknown>>>> = {
  user: sql`"user"`,
  status: sql`http_status::text`,
};

type Conditions = { readonly [Name in FilterName]: (value: string) => readonly RawBuilder<unknown>[] };

const equals = (column: string) => (value: string) => [sql`${sql.ref(column)} = ${value}`];
const equalsNumber = (column: string) => (value: string) => [sql`${sql.ref(column)} = ${numberOf(value)}`];

function statusConditions(status: string): RawBuilder<unknown>[] {
  if (status.endsWith("xx")) return inClass(Number(status[0]));
  // The partial index has only statuses other than 200, so the condition repeats that.
  return [sql`http_status = ${Number(status)}`, ...(status === "200" ? [] : [sql`http_status <> 200`])];
}

const tagConditions = (tags: string) => [hasTags(parseTags(tags, "tags"))];

const recordConditions: Conditions = {
  key: equals("key_hash"),
  model: equals("model"),
  provider: equals("provider"),
  user: equals("user"),
  status: statusConditions,
  error: (error) => [sql`outcome <> 'completed'`, sql`${error}::text in (error_type, provider_error)`],
  guardrail: equals("guardrail_id"),
  door: equals("door"),
  operation: equals("operation"),
  task: equals("task"),
  session: equals("session_id"),
  tags: tagConditions,
};

const ledgerConditions: Conditions = {
  key: equalsNumber("key"),
  model: equalsNumber("model"),
  provider: equalsNumber("provider"),
  user: equals("user"),
  status: statusConditions,
  error: (error) => [sql`outcome <> 1`, sql`${numberOf(error)} in (error_type, provider_error)`],
  guardrail: equalsNumber("guardrail"),
  door: equalsNumber("door"),
  operation: equalsNumber("operation"),
  task: equalsNumber("task"),
  session: equals("session_id"),
  tags: tagConditions,
};

const givenBy = (conditions: Conditions, filter: SeriesFilter): RawBuilder<unknown>[] =>
  (Object.keys(conditions) as FilterName[]).flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : conditions[name](value);
  });

/** Conditions on rows of `usage_records` and `all_calls`. */
export const callFilter = (filter: SeriesFilter): RawBuilder<unknown>[] => givenBy(recordConditions, filter);
/** Conditions on rows of `turns` and `all_turns`. */
export const turnFilter = (filter: SeriesFilter): RawBuilder<unknown>[] => [
  ...givenBy(recordConditions, filter),
  ...(filter.model === undefined ? [] : [sql`attempts > 0`]),
];
/** Conditions on rows of `ledger`. */
export const ledgerFilter = (filter: SeriesFilter): RawBuilder<unknown>[] => givenBy(ledgerConditions, filter);
