/**
 * Usage of end users over time: from their sums, and from rows of the ledger that these do not include yet or include only by day. The end users to list are
 * chosen first, so that only their rows are read in detail.
 */
import type { SeriesStep } from "@sluice/proto/contract/records/usage-series.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";
import type { Times } from "./cube-cover.ts";
import { type RecordSums, rowSums } from "./record-sums.ts";
import { type SeriesRow, coveringSpans, isUsed, storedSeries } from "./series.ts";
import { hourSums, joinColumns, sumFigures } from "./usage-rollup.ts";
import { hasHours, notAddedEarlier } from "./user-rows.ts";

interface UserQuery extends Times {
  readonly workspaceId: string;
  readonly step: SeriesStep;
  /** Number of end users listed separately, by cost. */
  readonly limit: number;
}

/** How far sums include the ledger, as constants: Postgres then leaves out partitions. */
interface Progress {
  readonly folded: string;
  /** All rows of before this time are in the other sums. */
  readonly folded_until: Date;
  readonly summed_until: Date;
}

const dayMs = 86_400_000;

/** The caller reads all of it in one snapshot. */
export async function userSeries(database: Kysely<Database>, query: UserQuery): Promise<readonly SeriesRow[]> {
  const { rows } = await sql<Progress>`
    select folded::text, summed_until,
      case when isfinite(from_day) then from_day::timestamp at time zone 'UTC' else timestamptz 'epoch' end as folded_until
    from ledger_progress cross join user_sums_progress`.execute(database);
  const [progress] = rows;
  if (progress === undefined) throw new Error("ledger_progress has no row");
  const picked = await pickUsers(database, query, progress);
  return await storedSeries(database, { ...query, by: "user" }, { picked, rest: restOf(query, progress, picked) });
}

/** Conditions on rows of the ledger that are not in the sums of end users; no row meets two of them. */
function missingRows({ from, to }: Times, { folded, folded_until, summed_until }: Progress): RawBuilder<unknown>[] {
  const since = (time: Date) => new Date(Math.max(time.getTime(), from.getTime() - dayMs));
  const until = new Date(to.getTime() + dayMs);
  return [
    sql`written >= ${folded}::bigint and opened_at >= ${since(folded_until)} and opened_at < ${until}`,
    ...(since(summed_until) < until
      ? [
          sql`written < ${folded}::bigint and opened_at >= ${since(summed_until)} and opened_at < ${until} and ${notAddedEarlier}`,
        ]
      : []),
  ];
}

/** Rows of the ledger in the sums of end users by day only. */
const rowsOfDays = (workspaceId: string, { folded, summed_until }: Progress): RawBuilder<unknown> => sql`
  written < ${folded}::bigint and opened_at < ${summed_until} and ${notAddedEarlier} and "user" is not null
    and not ${hasHours(sql`opened_at`, sql`${workspaceId}::uuid`)}`;

const recordsOf = ({ workspaceId }: UserQuery, step: RecordSums["step"], { from, to }: Times): RecordSums => ({
  workspaceId,
  step,
  by: ["user"],
  filter: {},
  from,
  to,
});

const columns = joinColumns(["value", "requests", "attempts", "cost_usd"]);
const named = (sums: RawBuilder<unknown>) => sql`select * from (${sums}) as sums where value <> ''`;

/** The end users with the highest costs. */
async function pickUsers(database: Kysely<Database>, query: UserQuery, progress: Progress): Promise<readonly string[]> {
  const { workspaceId, from, to, limit } = query;
  const spans = coveringSpans(query);
  const changed = sql`(select * from usage_changes where workspace_id = ${workspaceId})`;
  const light = (times: Times) => ({ ...recordsOf(query, "all", times), withoutLatencies: true }) as const;
  const sources = [
    sql`(${hourSums(changed, ["user"])}) as changes where dimension = 'user' and at >= ${from} and at < ${to}`,
    ...spans.map(
      (span) => sql`usage_sums
        where workspace_id = ${workspaceId} and dimension = 'user' and step = ${span.step} and at >= ${span.from} and at < ${span.to}`,
    ),
    ...missingRows(query, progress).map((condition) => sql`(${rowSums(light(query), condition)}) as missing`),
    ...spans
      .filter(({ step }) => step === "hour")
      .map((span) => sql`(${named(rowSums(light(span), rowsOfDays(workspaceId, progress)))}) as hours`),
  ];
  const { rows } = await sql<{ value: string }>`
    select value from (${sql.join(
      sources.map((source) => sql`select ${columns} from ${source}`),
      sql` union all `,
    )}) as found
    group by value having ${isUsed} order by sum(cost_usd) desc, sum(requests) desc, value limit ${limit}`.execute(
    database,
  );
  return rows.map(({ value }) => value);
}

/** Sums of rows of the ledger of these end users that their sums of this step do not include. */
function restOf(query: UserQuery, progress: Progress, picked: readonly string[]): RawBuilder<unknown> {
  const isPicked = sql`"user" = any(${picked}::text[])`;
  // A call may be without the end user of its turn.
  const mayBePicked = picked.includes("") ? sql`(${isPicked} or "user" is null or calls is not null)` : isPicked;
  const sums = recordsOf(query, query.step === "hour" ? "hour" : "day", query);
  const parts = missingRows(query, progress).map((condition) => rowSums(sums, sql`${condition} and ${mayBePicked}`));
  if (query.step === "hour")
    parts.push(named(rowSums(sums, sql`${rowsOfDays(query.workspaceId, progress)} and ${isPicked}`)));
  return sql`
    select at, value, ${joinColumns(sumFigures)} from (${sql.join(parts, sql` union all `)}) as found
    where value = any(${picked}::text[])`;
}
