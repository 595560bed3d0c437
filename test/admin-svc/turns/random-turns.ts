/** Random turns, random queries of series, and the expected sums from plain statements over all records. */
import { randomUUID } from "node:crypto";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { type SeriesQuery, usageSeries } from "@sluice/admin-svc/store/ledger/record-series.js";
import type { SeriesRow } from "@sluice/admin-svc/store/ledger/series.js";
import { findPercentiles } from "@sluice/admin-svc/store/ledger/percentiles.js";
import { type SeriesDimension, seriesSteps, seriesUnits } from "@sluice/proto/contract/records/usage-series.js";
import {
  CallOperation,
  CallPayer,
  TurnOutcome,
  type TurnRecord,
  type UsageRecord,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import fc from "../../support/properties.ts";
import type { AdminInstallation } from "../installation.ts";
import { Process, deliver, earlierStartMs, startMs } from "./deliveries.ts";

const someCall = fc.record({
  operation: fc.constantFrom(CallOperation.TURN, CallOperation.TURN, CallOperation.JUDGE),
  payer: fc.constantFrom(CallPayer.KEY, CallPayer.KEY, CallPayer.KEY, CallPayer.OPERATOR),
  model: fc.constantFrom("acme/one", "acme/two"),
  provider: fc.constantFrom("acme", "other"),
  task: fc.constantFrom(undefined, "code"),
  costUsd: fc.constantFrom(undefined, "0.000000000001", "1234.5", "7.123456789012"),
  // Some calls begin in another hour or on another day than their turn.
  afterMs: fc.constantFrom(0, 0, 0, 5, 3_600_000, 3 * 3_600_000),
  hasUser: fc.constantFrom(true, true, true, false),
});
const someTurn = fc.record({
  calls: fc.oneof({ weight: 3, arbitrary: fc.array(someCall, { maxLength: 1 }) }, fc.array(someCall, { maxLength: 3 })),
  startMs: fc.constantFrom(startMs, startMs, startMs, earlierStartMs),
  afterMs: fc.oneof(fc.constantFrom(0, 1_800_000, 7_199_999), fc.nat(7_199_999)),
  isWhole: fc.boolean(),
  key: fc.constantFrom("a", "b"),
  outcome: fc.constantFrom(TurnOutcome.COMPLETED, TurnOutcome.COMPLETED, TurnOutcome.FAILED, TurnOutcome.REFUSED),
  httpStatus: fc.constantFrom(200, 200, 502, 503, 429),
  errorType: fc.constantFrom("", "rate_limited"),
  providerError: fc.constantFrom("", "http_500"),
  guardrailId: fc.constantFrom("", "g-1"),
  user: fc.constantFrom("u-1", "u-1", "u-2", ""),
  sessionId: fc.constantFrom(undefined, "s-1"),
  tags: fc.constantFrom("", "team=search", "team=ads, env=prod", "env=prod,a%2Cb%3D%25=50%25"),
  door: fc.constantFrom("chat", "responses"),
  model: fc.constantFrom("acme/one", "unknown"),
  count: fc.constantFrom(1, 1, 7),
  firstMs: fc.constantFrom(undefined, 0, 1, 7, 64, 300),
  durationMs: fc.constantFrom(1, 2, 500, 9_999),
});

/** Delivers turns, some of them completely and others in parts. @param laterMs milliseconds added to all times */
export async function deliverRandomTurns(installation: AdminInstallation, count: number, laterMs = 0): Promise<void> {
  const process = new Process();
  const batches: { calls: UsageRecord[]; turns: TurnRecord[] }[] = [
    { calls: [], turns: [] },
    { calls: [], turns: [] },
    { calls: [], turns: [] },
  ];
  for (const { calls, key, startMs: dayMs, afterMs, isWhole, ...turn } of fc.sample(someTurn, count)) {
    const openedAtMs = BigInt(dayMs + afterMs + laterMs);
    const common = { generationId: `gen-${randomUUID()}`, keyHash: key.repeat(64), openedAtMs };
    const shared = { ...common, door: turn.door, user: turn.user, sessionId: turn.sessionId, tags: turn.tags };
    const records = calls.map(({ afterMs: callAfterMs, hasUser, ...call }, index) =>
      process.call(
        givenOnly({
          ...shared,
          ...call,
          ...(!hasUser && { user: "" }),
          turnId: randomUUID(),
          attempt: index + 1,
          openedAtMs: openedAtMs + BigInt(callAfterMs),
        }),
      ),
    );
    batches[isWhole ? 0 : 1]?.calls.push(...records);
    batches[isWhole ? 0 : 2]?.turns.push(process.turn(givenOnly({ ...shared, ...turn })));
  }
  for (const batch of batches) await deliver(installation, batch);
}

/** The fields without undefined ones: an undefined field of a message would count as present. */
const givenOnly = <Fields extends object>(fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;

/** Pairs of tag lists, by name. */
export const pairsOfTags: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  "team=search": [["team", "search"]],
  "env=prod, team=ads": [
    ["env", "prod"],
    ["team", "ads"],
  ],
  "a%2Cb%3D%25=50%25": [["a,b=%", "50%"]],
  "team=none": [["team", "none"]],
};

const filterValues = {
  key: ["a".repeat(64), "none"],
  model: ["acme/one", "unknown"],
  provider: ["acme"],
  user: ["u-1"],
  status: ["200", "502", "5xx", "4xx"],
  error: ["rate_limited", "http_500"],
  guardrail: ["g-1"],
  door: ["chat"],
  operation: ["turn", "judge"],
  task: ["code"],
  session: ["s-1"],
  tags: Object.keys(pairsOfTags),
};
const names = Object.keys(filterValues) as (keyof typeof filterValues)[];
const someFilter = fc
  .uniqueArray(fc.constantFrom(...names), { maxLength: 2 })
  .chain((chosen) =>
    fc.record(
      Object.fromEntries(chosen.map((name) => [name, fc.constantFrom<string>(...filterValues[name])])) as Record<
        string,
        fc.Arbitrary<string>
      >,
    ),
  );

const columns: Readonly<Record<string, string>> = {
  key: "key_hash",
  guardrail: "guardrail_id",
  status: "http_status::text",
  session: "session_id",
  error: "case when outcome <> 'completed' then coalesce(provider_error, error_type) end",
  user: '"user"',
  "tag:team": "tags ->> 'team'",
  "tag:a%2Cb%3D%25": "tags ->> 'a,b=%'",
};

function plainConditions(filter: SeriesQuery["filter"]): RawBuilder<unknown>[] {
  return Object.entries(filter).map(([name, given]) => {
    const value = String(given);
    if (name === "error") return sql`outcome <> 'completed' and (error_type = ${value} or provider_error = ${value})`;
    if (name === "tags") {
      const pairs = (pairsOfTags[value] ?? []).map(([tag, text]) => sql`tags ->> ${tag}::text = ${text}`);
      return sql.join(pairs, sql` and `);
    }
    if (name === "status") return sql`http_status::text like ${value.replace("xx", "__")}`;
    return sql`${sql.raw(columns[name] ?? name)} = ${value}`;
  });
}

const someTags = ["tag:team", "tag:a%2Cb%3D%25"] as const;
const ofTurn = new Set(["status", "guardrail", "error", "tags", ...someTags]);

/** The expected sums, from one statement over all turns and, for figures of calls, one over all calls. */
async function plainSums(database: Transaction<Database>, { step, by, filter, from, to }: SeriesQuery) {
  const isByTurn = [...by, ...Object.keys(filter)].some((name) => ofTurn.has(name));
  const values = (model: string) =>
    [0, 1].map((place) => {
      const unit = by[place] ?? "''";
      return `coalesce(${unit === "model" ? model : (columns[unit] ?? unit)}, '')`;
    });
  const select = (model: string, figures: string, table: string) => sql`
    select date_trunc(${step}, opened_at, 'UTC') as at, ${sql.raw(values(model).join(" as value, "))} as second, ${sql.raw(figures)}
    from (select *, ${sql.raw(model)} as model_of_row from ${sql.table(table)}) as rows
    where ${sql.join(
      [
        sql`opened_at >= ${from} and opened_at < ${to}`,
        ...plainConditions(filter),
        ...(filter.model === undefined ? [] : [sql`model_of_row = ${filter.model}`]),
        ...(table === "all_calls" ? [sql`payer = 'key'`] : []),
      ],
      sql` and `,
    )} group by 1, 2, 3`;
  const turnModel = "case when attempts > 0 then model else '' end";
  const spending = isByTurn
    ? "sum(attempts) as attempts, sum(cost_usd) as cost, sum(input_tokens) as input, sum(cached_tokens) as cached, sum(output_tokens) as output"
    : "0::numeric as attempts, 0::numeric as cost, 0::numeric as input, 0::numeric as cached, 0::numeric as output";
  const failed = "coalesce(sum(requests) filter (where outcome in ('failed', 'lost', 'refused')), 0)";
  const counts = ["first_ms", "duration_ms"].map(
    (column) => `sum(latency_count(${column})) filter (where outcome in ('completed', 'incomplete')) as ${column}`,
  );
  const ofTurns = `sum(requests) as requests, ${failed} as failures, ${spending}, ${counts.join(", ")}`;
  const parts = [select(turnModel, ofTurns, "all_turns")];
  const sums = "count(*), sum(cost_usd), sum(input_tokens), sum(cached_tokens), sum(output_tokens)";
  if (!isByTurn) parts.push(select("model", `0, 0, ${sums}, 0, 0`, "all_calls"));
  const { rows } = await sql<Readonly<Record<string, string>>>`
    select to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24') as at, value, second, sum(requests)::text as requests, sum(failures)::text as failures,
      sum(attempts)::text as attempts, coalesce(sum(cost), 0)::numeric(24, 12)::text as cost, coalesce(sum(input), 0)::text as input,
      coalesce(sum(cached), 0)::text as cached, coalesce(sum(output), 0)::text as output, coalesce(sum(first_ms), 0)::text as first_ms,
      coalesce(sum(duration_ms), 0)::text as duration_ms
    from (${sql.join(parts, sql` union all `)}) as parts group by 1, 2, 3 having sum(requests) <> 0 or sum(attempts) <> 0`.execute(
    database,
  );
  return rows.map(({ first_ms: first = "", duration_ms: duration = "", ...row }) =>
    [...Object.values(row), findPercentiles(first)?.p50, findPercentiles(duration)?.p95].join(" "),
  );
}

export const seriesPeriod = {
  from: new Date("2026-02-01T00:00:00Z"),
  to: new Date(startMs + 2 * 3_600_000 + 4 * 86_400_000),
};

export const someSeries = fc.record({
  step: fc.constantFrom(...seriesSteps),
  by: fc.uniqueArray(fc.constantFrom<SeriesDimension>(...seriesUnits, ...someTags), { maxLength: 2 }),
  filter: someFilter,
});
export type SomeSeries = Pick<SeriesQuery, "step" | "by" | "filter">;

/** The points of a series, and the plain sums of the records at the same moment, as sorted lines. */
export async function seriesAndSums(database: Kysely<Database>, some: SomeSeries) {
  const query = { workspaceId: defaultWorkspaceId, limit: 100, ...seriesPeriod, ...some };
  const [series, plain] = await database
    .transaction()
    .setIsolationLevel("repeatable read")
    .execute(async (snapshot) => [await usageSeries(snapshot, query), await plainSums(snapshot, query)] as const);
  const points = series
    .filter(({ at }) => at !== null)
    .map((row) =>
      [
        row.at?.toISOString().slice(0, 13).replace("T", " "),
        row.value ?? "",
        row.second ?? "",
        row.requests,
        row.failures,
        row.attempts,
        Number(row.cost_usd) === 0 ? "0.000000000000" : row.cost_usd,
        row.input_tokens,
        row.cached_tokens,
        row.output_tokens,
        row.first?.p50,
        row.duration?.p95,
      ].join(" "),
    );
  return { query, series, points: points.toSorted(), sums: plain.toSorted() };
}

/** Requests, failures, tokens and cost over all values, for each step and for the whole period. */
export function totalsOf(rows: readonly SeriesRow[]): ReadonlyMap<number | undefined, readonly bigint[]> {
  const totals = new Map<number | undefined, readonly bigint[]>();
  for (const row of rows) {
    const figures = [row.requests, row.failures, row.output_tokens, row.cost_usd.replace(".", "")].map(BigInt);
    const known = totals.get(row.at?.getTime());
    totals.set(row.at?.getTime(), known ? figures.map((figure, n) => figure + (known[n] ?? 0n)) : figures);
  }
  return totals;
}
