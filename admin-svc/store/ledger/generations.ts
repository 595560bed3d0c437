/**
 * Lists turns, latest first. Each filter has an index in order of time, so a page reads little more than its own rows
 * even in a large table.
 */
import type { Tag } from "@sluice/proto/lib/turns/tags.js";
import { type Kysely, type RawBuilder, type Selectable, sql } from "kysely";
import type { Database } from "../database.ts";
import type { TurnsTable } from "../tables/usage.ts";
import { numberOf } from "./names.ts";
import { requestRefusals } from "./row-figures.ts";
import { turnColumns } from "./turn-record.ts";
import type { TurnSearch } from "./turn-search.ts";

/** A turn with the name of its key; null when the key no longer exists. */
export type TurnRow = Selectable<TurnsTable> & { readonly key_name: string | null };

/** Position in a list of turns: the last turn of a page. */
export interface TurnCursor {
  readonly openedAt: Date;
  readonly generationId: string;
}

/** Filters on columns of `turns`; an undefined filter matches everything. */
export interface TurnFilter {
  readonly workspaceId: string;
  readonly keyHash?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly status?: number | undefined;
  readonly outcome?: string | undefined;
  readonly user?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly requestId?: string | undefined;
  readonly generationId?: string | undefined;
  readonly door?: string | undefined;
  readonly operation?: string | undefined;
  readonly guardrailId?: string | undefined;
  readonly task?: string | undefined;
  /** First digit of the HTTP status, such as 5 for 5xx. */
  readonly statusClass?: number | undefined;
  /** Value of `error_type` or `provider_error` of a turn that did not complete. */
  readonly error?: string | undefined;
  /** Id of a provider: matches turns in which a call to it failed and another call followed. */
  readonly fallbackFrom?: string | undefined;
  readonly tags?: readonly Tag[] | undefined;
  readonly text?: TurnSearch | undefined;
  /** Start of the period, included. */
  readonly from?: Date | undefined;
  /** End of the period, not included. */
  readonly to?: Date | undefined;
}

const columns = {
  workspaceId: "turns.workspace_id",
  keyHash: "turns.key_hash",
  model: "model",
  provider: "provider",
  status: "http_status",
  outcome: "outcome",
  user: "turns.user",
  sessionId: "session_id",
  requestId: "request_id",
  generationId: "generation_id",
  door: "door",
  operation: "operation",
  guardrailId: "guardrail_id",
  task: "task",
} as const satisfies Partial<Record<keyof TurnFilter, string>>;
type EqualName = keyof typeof columns;

const equalsOf = (filter: TurnFilter): [EqualName, string | number][] =>
  (Object.keys(columns) as EqualName[]).flatMap((name): [EqualName, string | number][] => {
    const value = filter[name];
    return value === undefined ? [] : [[name, value]];
  });

/** @param after the last turn of the preceding page; undefined for the first page */
export async function listTurns(
  database: Kysely<Database>,
  filter: TurnFilter,
  limit: number,
  after?: TurnCursor,
): Promise<readonly TurnRow[]> {
  const { rows } = await turnsQuery(filter, limit, after).execute(database);
  return rows;
}

/** Rows of a search, and how far back it has read: undefined when there are no older turns. */
export interface TurnRows {
  readonly rows: readonly TurnRow[];
  /** Start of the searched period; earlier turns were not read. */
  readonly readTo: Date | undefined;
}

/**
 * Number of turns in the first searched period. In a workspace with fewer turns, one search completes the page, however
 * slow the machine.
 */
const firstStretchTurns = 20_000;
/** Minimum length of a searched period in milliseconds: with shorter ones, a search would hardly proceed. */
const minStretchMs = 1_000;
/**
 * Target duration in milliseconds for searching a period. The next period's length is adapted to it, up to fourfold.
 */
const stretchTakesMs = 80;
/** Time in milliseconds after which a search returns the results found so far. */
const searchMs = 200;

/**
 * Searches one period after another, latest first. Each filter has its own index in order of time; but when two filters
 * rarely match the same turn, one unlimited query would read all rows of one filter, back to the beginning of the
 * ledger.
 */
export async function searchTurns(
  database: Kysely<Database>,
  filter: TurnFilter,
  limit: number,
  after?: TurnCursor,
): Promise<TurnRows> {
  const { rows, readTo } = await searchStretches(database, filter, {
    limit,
    latest: Math.min(after?.openedAt.getTime() ?? Infinity, filter.to?.getTime() ?? Infinity, Date.now()),
    read: (from, to, wanted) => listTurns(database, { ...filter, from, to: to ?? filter.to }, wanted, after),
  });
  return { rows, readTo: rows.length === limit ? rows.at(-1)?.opened_at : readTo };
}

export interface StretchSearch<Row> {
  readonly limit: number;
  /** Time in milliseconds since 1970 at which the search begins, going back. */
  readonly latest: number;
  /** Reads the rows of a period, latest first. For the first period, `to` is undefined. */
  readonly read: (from: Date, to: Date | undefined, wanted: number) => Promise<readonly Row[]>;
}

/**
 * Reads the turns of a workspace one period after another, latest first, until there are enough rows or the time is
 * over.
 */
export async function searchStretches<Row>(
  database: Kysely<Database>,
  period: Pick<TurnFilter, "workspaceId" | "from">,
  { limit, latest: start, read }: StretchSearch<Row>,
): Promise<{ readonly rows: Row[]; readonly readTo: Date | undefined }> {
  const rows: Row[] = [];
  const began = performance.now();
  let latest = start;
  let to: Date | undefined;
  const { first, middle } = await boundsOfSearch(database, period, new Date(latest));
  if (first === undefined) return { rows, readTo: undefined };
  let lengthMs = Math.max(minStretchMs, latest - middle.getTime());
  while (latest >= first.getTime()) {
    const stretchBegan = performance.now();
    const from = new Date(Math.max(latest - lengthMs, first.getTime()));
    rows.push(...(await read(from, to, limit - rows.length)));
    const now = performance.now();
    if (from.getTime() <= first.getTime()) break;
    if (rows.length === limit || now - began > searchMs) return { rows, readTo: from };
    lengthMs *= Math.min(4, stretchTakesMs / (now - stretchBegan));
    to = from;
    latest = from.getTime();
  }
  return { rows, readTo: undefined };
}

interface SearchBounds {
  /** Time of the earliest turn; undefined when the workspace has no turn. */
  readonly first: Date | undefined;
  /** Start of the first searched period. */
  readonly middle: Date;
}

async function boundsOfSearch(
  database: Kysely<Database>,
  { workspaceId, from }: Pick<TurnFilter, "workspaceId" | "from">,
  latest: Date,
): Promise<SearchBounds> {
  const since = sql`opened_at >= coalesce(${from ?? null}::timestamptz, '-infinity')`;
  const tables = [
    [sql`turns`, sql`workspace_id = ${workspaceId}`],
    [sql`ledger`, sql`workspace = ${numberOf(workspaceId)}`],
  ] as const;
  const first = tables.map(
    ([table, own]) => sql`(select opened_at from ${table} where ${own} and ${since} order by opened_at limit 1)`,
  );
  const middle = tables.map(
    ([table, own]) => sql`(
      select opened_at from ${table} where ${own} and ${since} and opened_at <= ${latest}
      order by opened_at desc offset ${firstStretchTurns} limit 1
    )`,
  );
  const { rows } = await sql<{ first: Date | null; middle: Date | null }>`
    select least(${sql.join(first)}) as first, greatest(${sql.join(middle)}) as middle`.execute(database);
  const [found] = rows;
  return { first: found?.first ?? undefined, middle: found?.middle ?? found?.first ?? latest };
}

/**
 * SQL for a page, merged from `turns` and the ledger. The ledger is searched in its own columns, because the view's
 * texts have no index; only the found rows are read through the view, and only those of the page look up their key.
 */
export function turnsQuery(filter: TurnFilter, limit: number, after?: TurnCursor): RawBuilder<TurnRow> {
  const meant = sql.join(conditions(filter, after), sql` and `);
  const ofRecords =
    filter.fallbackFrom === undefined ? meant : sql`${meant} and ${hasRecordOfFallback(filter.fallbackFrom)}`;
  const picks = ledgerConditions(filter, after).map(
    (conditionsOfPick) => sql`(
      select generation_id, opened_at from ledger where ${sql.join(conditionsOfPick, sql` and `)}
      order by opened_at desc, generation_id desc limit ${limit}
    )`,
  );
  return sql<TurnRow>`
    with picked as materialized (${sql.join(picks, sql` union all `)})
    select page.*, api_keys.name as key_name
    from (
      select * from (
        (select *, null::bigint as written from (${earlierTurns(ofRecords, limit)}) as earlier)
        union all
        select ${sql.raw(turnColumns.join(", "))}, written from all_turns as turns
        where written is not null and generation_id = any(array(select generation_id from picked))
          and opened_at between (select min(opened_at) from picked) and (select max(opened_at) from picked) and ${meant}
      ) as found order by opened_at desc, generation_id desc limit ${limit}
    ) as page left join api_keys on api_keys.hash = page.key_hash
    order by opened_at desc, generation_id desc`;
}

const earlierTurns = (meant: RawBuilder<unknown>, limit: number): RawBuilder<unknown> => sql`
  select ${sql.raw(turnColumns.join(", "))} from turns where ${meant} order by opened_at desc, generation_id desc limit ${limit}`;

function conditions(filter: TurnFilter, after: TurnCursor | undefined): RawBuilder<unknown>[] {
  return [
    ...equalsOf(filter).map(([name, value]) => sql`${sql.ref(columns[name])} = ${value}`),
    ...(filter.statusClass === undefined ? [] : inClass(filter.statusClass)),
    ...(filter.error === undefined
      ? []
      : [sql`outcome <> 'completed'`, sql`${filter.error}::text in (error_type, provider_error)`]),
    ...(filter.tags === undefined ? [] : [hasTags(filter.tags)]),
    ...(filter.text === undefined ? [] : [filter.text.inTurns]),
    // SQL conditions that let Postgres use partial indexes, which leave out the most frequent value.
    ...(filter.status === undefined || filter.status === 200 ? [] : [sql`http_status <> 200`]),
    ...(filter.outcome === undefined || filter.outcome === "completed" ? [] : [sql`outcome <> 'completed'`]),
    ...(filter.operation === undefined || filter.operation === "turn" ? [] : [sql`operation <> 'turn'`]),
    ...inTime(filter, after),
  ];
}

/** SQL condition on rows of `turns` or `ledger` that have all of the tags. */
export const hasTags = (tags: readonly Tag[]): RawBuilder<unknown> =>
  sql`tags @> ${JSON.stringify(Object.fromEntries(tags))}::jsonb`;

const fallbackCall = (provider: string) => sql`
  call.provider = ${provider} and call.status = 'failed' and call.http_status not in ${requestRefusals} and call.payer = 'key'
    and call.attempt < last_attempt`;
const hasRecordOfFallback = (provider: string) => sql`
  exists (select from usage_records as call where call.generation_id = turns.generation_id and call.key_hash = turns.key_hash and ${fallbackCall(provider)})`;
const listsFallback = (provider: string) => sql`
  calls is not null and exists (
    select from jsonb_to_recordset(calls) as call (provider text, status text, http_status smallint, payer text, attempt smallint)
    where ${fallbackCall(provider)}
  )`;

/** SQL conditions on the class of a status. The partial index has only statuses other than 200. */
export const inClass = (first: number): RawBuilder<unknown>[] => [
  sql`http_status >= ${first * 100}`,
  sql`http_status < ${first * 100 + 100}`,
  ...(first === 2 ? [] : [sql`http_status <> 200`]),
];

const inTime = ({ from, to }: TurnFilter, after: TurnCursor | undefined): RawBuilder<unknown>[] => [
  ...(from === undefined ? [] : [sql`opened_at >= ${from}`]),
  ...(to === undefined ? [] : [sql`opened_at < ${to}`]),
  ...(after === undefined
    ? []
    : [
        sql`opened_at <= ${after.openedAt}`,
        sql`(opened_at, generation_id) < (${after.openedAt}, ${after.generationId})`,
      ]),
];

/** Columns of the ledger containing texts; other columns contain numbers of names. */
const textColumns: Readonly<Partial<Record<EqualName, string>>> = {
  status: "http_status",
  user: "user",
  sessionId: "session_id",
  requestId: "request_id",
  generationId: "generation_id",
};
const numberColumns: Readonly<Partial<Record<EqualName, string>>> = {
  workspaceId: "workspace",
  keyHash: "key",
  provider: "provider",
  outcome: "outcome",
  door: "door",
  operation: "operation",
  guardrailId: "guardrail",
  task: "task",
};

/**
 * SQL conditions of one or two searches in the ledger. A filter by model matches the model of the calls, or the
 * requested model of a turn without calls, which is a separate search.
 */
function ledgerConditions(filter: TurnFilter, after: TurnCursor | undefined): RawBuilder<unknown>[][] {
  const { model, ...others } = filter;
  const given = equalsOf(others).flatMap(([name, value]) => {
    const [text, number] = [textColumns[name], numberColumns[name]];
    return text === undefined
      ? [sql`${sql.ref(number as string)} = ${numberOf(String(value))}`]
      : [sql`${sql.ref(text)} = ${value}`];
  });
  const common = [
    ...given,
    sql`not is_moved`,
    ...(filter.statusClass === undefined ? [] : inClass(filter.statusClass)),
    ...(filter.error === undefined
      ? []
      : [sql`outcome <> 1`, sql`${numberOf(filter.error)} in (error_type, provider_error)`]),
    ...(filter.fallbackFrom === undefined ? [] : [listsFallback(filter.fallbackFrom)]),
    ...(filter.tags === undefined ? [] : [hasTags(filter.tags)]),
    ...(filter.text === undefined ? [] : [filter.text.inLedger]),
    ...(filter.status === undefined || filter.status === 200 ? [] : [sql`http_status <> 200`]),
    ...(filter.outcome === undefined || filter.outcome === "completed" ? [] : [sql`outcome <> 1`]),
    ...(filter.operation === undefined || filter.operation === "turn" ? [] : [sql`operation <> 2`]),
    ...inTime(filter, after),
  ];
  if (model === undefined) return [common];
  return [
    [...common, sql`model = ${numberOf(model)}`],
    [...common, sql`model is null`, sql`requested_model = ${model}`],
  ];
}
