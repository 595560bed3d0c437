/** Sums by any dimensions and filters equal those of the records, to the last picodollar, also of turns that are not in the stored sums yet. */
import { create } from "@bufbuild/protobuf";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { type SeriesQuery, usageSeries } from "@sluice/admin-svc/store/ledger/record-series.js";
import { findPercentiles } from "@sluice/admin-svc/store/ledger/percentiles.js";
import { pageOfTurns } from "@sluice/admin-svc/store/ledger/turn-pages.js";
import {
  CallOperation,
  CallPayer,
  TokenCountsSchema,
  TurnOutcome,
  type TurnRecord,
  type UsageRecord,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type ListSessionsResponse, UsageService } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { comparePart, summarize } from "@sluice/admin-svc/rules/usage-change.js";
import { type SeriesUnit, seriesSteps, seriesUnits } from "@sluice/proto/contract/records/usage-series.js";
import { type RawBuilder, type Transaction, sql } from "kysely";
import fc from "../../support/properties.ts";
import { type AdminInstallation, callAsAdministrator, openInstallation } from "../installation.ts";
import { Process, deliver, earlierStartMs, startMs } from "./deliveries.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
  await deliverTurns(150);
});
afterAll(() => installation?.close());

const someCall = fc.record({
  operation: fc.constantFrom(CallOperation.TURN, CallOperation.TURN, CallOperation.JUDGE),
  payer: fc.constantFrom(CallPayer.KEY, CallPayer.KEY, CallPayer.KEY, CallPayer.OPERATOR),
  model: fc.constantFrom("acme/one", "acme/two"),
  provider: fc.constantFrom("acme", "other"),
  task: fc.constantFrom(undefined, "code"),
  costUsd: fc.constantFrom(undefined, "0.000000000001", "1234.5", "7.123456789012"),
  // Some begin in another hour or day than their turn.
  afterMs: fc.constantFrom(0, 0, 0, 5, 3_600_000, 3 * 3_600_000),
});
const someTurn = fc.record({
  calls: fc.oneof({ weight: 3, arbitrary: fc.array(someCall, { maxLength: 1 }) }, fc.array(someCall, { maxLength: 3 })),
  startMs: fc.constantFrom(startMs, startMs, startMs, earlierStartMs),
  afterMs: fc.constantFrom(0, 1_800_000, 7_199_999),
  isWhole: fc.boolean(),
  key: fc.constantFrom("a", "b"),
  outcome: fc.constantFrom(TurnOutcome.COMPLETED, TurnOutcome.COMPLETED, TurnOutcome.FAILED, TurnOutcome.REFUSED),
  httpStatus: fc.constantFrom(200, 200, 502, 503, 429),
  errorType: fc.constantFrom("", "rate_limited"),
  providerError: fc.constantFrom("", "http_500"),
  guardrailId: fc.constantFrom("", "g-1"),
  user: fc.constantFrom(undefined, "u-1"),
  sessionId: fc.constantFrom(undefined, "s-1"),
  door: fc.constantFrom("chat", "responses"),
  model: fc.constantFrom("acme/one", "unknown"),
  count: fc.constantFrom(1, 1, 7),
  firstMs: fc.constantFrom(undefined, 0, 1, 7, 64, 300),
  durationMs: fc.constantFrom(1, 2, 500, 9_999),
});

async function deliverTurns(count: number): Promise<void> {
  const process = new Process();
  const batches: { calls: UsageRecord[]; turns: TurnRecord[] }[] = [
    { calls: [], turns: [] },
    { calls: [], turns: [] },
    { calls: [], turns: [] },
  ];
  for (const { calls, key, startMs: dayMs, afterMs, isWhole, ...turn } of fc.sample(someTurn, count)) {
    const openedAtMs = BigInt(dayMs + afterMs);
    const common = { generationId: `gen-${randomUUID()}`, keyHash: key.repeat(64), openedAtMs };
    const shared = { ...common, door: turn.door, user: turn.user, sessionId: turn.sessionId };
    const records = calls.map(({ afterMs: callAfterMs, ...call }, index) =>
      process.call(
        givenOnly({
          ...shared,
          ...call,
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

/** An undefined field of a message would count as given. */
const givenOnly = <Fields extends object>(fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;

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
} as const;
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
};

function plainConditions(filter: SeriesQuery["filter"]): RawBuilder<unknown>[] {
  return Object.entries(filter).map(([name, given]) => {
    const value = String(given);
    if (name === "error") return sql`outcome <> 'completed' and (error_type = ${value} or provider_error = ${value})`;
    if (name === "status") return sql`http_status::text like ${value.replace("xx", "__")}`;
    return sql`${sql.raw(columns[name] ?? name)} = ${value}`;
  });
}

const ofTurn = new Set(["status", "guardrail", "error"]);

/** The same sums as one statement over all turns, and one over all calls where their figures count by themselves. */
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

const period = { from: new Date("2026-02-01T00:00:00Z"), to: new Date(startMs + 4 * 86_400_000) };

test("sums by any two dimensions and filters equal the records, in hours, days, weeks and months", async () => {
  const someQuery = fc.record({
    step: fc.constantFrom(...seriesSteps),
    by: fc.uniqueArray(fc.constantFrom<SeriesUnit>(...seriesUnits), { maxLength: 2 }),
    filter: someFilter,
  });
  let points = 0;
  const property = fc.asyncProperty(someQuery, async (query) => {
    const full = { workspaceId: defaultWorkspaceId, limit: 100, ...period, ...query };
    const [series, plain] = await installation.database
      .transaction()
      .setIsolationLevel("repeatable read")
      .execute(async (snapshot) => [await usageSeries(snapshot, full), await plainSums(snapshot, full)] as const);
    const shown = series
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
    points += shown.length;
    expect(shown.toSorted()).toEqual(plain.toSorted());
    // Values beyond the limit are summed together.
    const total = (rows: typeof series, figure: "cost_usd" | "requests") =>
      rows.filter(({ at }) => at === null).reduce((sum, row) => sum + BigInt(row[figure].replace(".", "")), 0n);
    const few = await usageSeries(installation.database, { ...full, limit: 1 });
    for (const figure of ["cost_usd", "requests"] as const) expect(total(few, figure)).toBe(total(series, figure));
  });
  await fc.assert(property, { numRuns: 60 });
  expect(points).toBeGreaterThan(200);
});

test("lists by text, class of statuses, error and task show the turns that have them", async () => {
  const { database } = installation;
  await sql`
    insert into api_keys (hash, workspace_id, name, kind, label) values (${"a".repeat(64)}, ${defaultWorkspaceId}, 'Billing team', 'inference', 'sk-sl-a')`.execute(
    database,
  );
  const { rows: all } = await sql<Readonly<Record<string, string | null>>>`
    select all_turns.*, http_status::text as status, api_keys.name as key_name
    from all_turns left join api_keys on api_keys.hash = key_hash`.execute(database);
  const [one] = all;
  const searched = [
    "key_name",
    "model",
    "requested_model",
    "provider",
    "user",
    "session_id",
    "error_type",
    "provider_error",
  ];
  const matches = (row: (typeof all)[number], { q, status, error, task }: Partial<Record<string, string>>): boolean =>
    (q === undefined ||
      searched.some((column) => row[column]?.toLowerCase().includes(q.toLowerCase())) ||
      ["generation_id", "request_id", "trace_id"].some((column) => row[column]?.startsWith(q))) &&
    (status === undefined || row["status"]?.startsWith(status.replace("xx", "")) === true) &&
    (error === undefined ||
      (row["outcome"] !== "completed" && [row["error_type"], row["provider_error"]].includes(error))) &&
    (task === undefined || row["task"] === task);
  const id = String(one?.["generation_id"]);
  const queries = [
    ...["ACME/t", "bILLing", "rate", "http_", "u-1", "S-1", "unkn", "%", "gen-", id, id.slice(0, 9)].map((q) => ({
      q,
    })),
    { q: "req_1" },
    { status: "5xx" },
    { status: "4xx", q: "acme" },
    { status: "2xx" },
    { error: "rate_limited" },
    { error: "http_500", q: "billing" },
    { task: "code" },
  ];
  for (const query of queries) {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await pageOfTurns(database, defaultWorkspaceId, { ...query, limit: 40, cursor });
      seen.push(...page.rows.map((row) => row.generation_id));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    const wanted = all.filter((row) => matches(row, query)).map((row) => row["generation_id"]);
    expect([query, new Set(seen), seen.length]).toEqual([query, new Set(wanted), wanted.length]);
  }
});

test("a change is taken apart into parts that add up to the difference, and named in a sentence", async () => {
  const other = await openInstallation();
  try {
    const process = new Process();
    const dayMs = 86_400_000;
    const today = Math.floor(Date.now() / dayMs) * dayMs;
    const turnsOf = async (atMs: number, keyHash: string, tokens: number, costs: readonly string[]) => {
      const ids = costs.map(() => `gen-${randomUUID()}`);
      const at = { keyHash, openedAtMs: BigInt(atMs) };
      const used = create(TokenCountsSchema, { input: tokens });
      await deliver(other, {
        calls: costs.map((costUsd, n) =>
          process.call({
            ...at,
            generationId: ids[n] as string,
            turnId: randomUUID(),
            costUsd,
            model: "acme/opus",
            tokens: used,
          }),
        ),
        turns: ids.map((generationId) => process.turn({ ...at, generationId })),
      });
    };
    const [bob, ann] = ["b".repeat(64), "c".repeat(64)];
    await sql`insert into api_keys (hash, workspace_id, name, kind, label) values (${bob}, ${defaultWorkspaceId}, 'notebooks-bob', 'inference', 'sk-sl-b')`.execute(
      other.database,
    );
    // Yesterday, and eight days ago, when the running day had just begun as well.
    await turnsOf(today - dayMs, bob, 200, Array<string>(25).fill("0.02"));
    await turnsOf(today - 8 * dayMs, bob, 100, ["0.01"]);
    await turnsOf(today - dayMs, ann, 10, ["0.030000000001"]);
    await turnsOf(today - 8 * dayMs, ann, 10, ["0.01"]);
    const change = await callAsAdministrator(other, UsageService.method.getUsageChange, {});
    expect([change.before?.costUsd, change.after?.costUsd]).toEqual(["0.02", "0.530000000001"]);
    expect(change.parts).toMatchObject([
      { keyName: "notebooks-bob", differenceUsd: "0.49", volumeUsd: "0.24", tokensUsd: "0.25", priceUsd: "0" },
      { keyHash: ann, differenceUsd: "0.020000000001", volumeUsd: "0", tokensUsd: "0", priceUsd: "0.020000000001" },
    ]);
    expect(change.summary).toBe("+$0.51, of which +$0.49 is notebooks-bob on acme/opus: 2 times the tokens a request.");
    const ofAnn = await callAsAdministrator(other, UsageService.method.getUsageChange, { filter: { keyHash: ann } });
    expect(ofAnn.summary).toBe(`+$0.02, all of it ${ann.slice(0, 12)} on acme/opus: 3 times the price of a token.`);
    const hour = { from: new Date(today - dayMs).toISOString(), to: new Date(today - dayMs + 3_600_000).toISOString() };
    const added = await callAsAdministrator(other, UsageService.method.getUsageChange, hour);
    expect(added.summary).toBe("+$0.53, of which +$0.50 is notebooks-bob on acme/opus: not used before.");
  } finally {
    await other.close();
  }
});

test("parts of a change add up to its difference", () => {
  const amount = fc.bigInt(0n, 10n ** 15n);
  const amounts = fc.record({ cost: amount, requests: fc.bigInt(0n, 99n), inputTokens: amount, outputTokens: amount });
  const property = fc.property(amounts, amounts, (before, after) => {
    const part = comparePart({ key: "k", keyName: "", model: "m" }, before, after);
    expect(part.volume + part.tokens + part.price).toBe(after.cost - before.cost);
    expect(summarize(part, [part])).toMatch(/^(?:[+-]\$|No usage|The cost)/);
  });
  fc.assert(property);
});

test("sessions are listed once, by their last turn, with the sums of their turns", async () => {
  const { database } = installation;
  const process = new Process();
  const turns = Array.from({ length: 60 }, (_, n) =>
    process.turn({
      generationId: `gen-${randomUUID()}`,
      openedAtMs: BigInt(startMs + (n % 30) * 60_000),
      sessionId: `run-${n % 13}`,
      outcome: n % 7 === 0 ? TurnOutcome.FAILED : TurnOutcome.COMPLETED,
      model: `acme/m-${n % 8}`,
    }),
  );
  await deliver(installation, { calls: [], turns });
  const { rows: wanted } = await sql<{ line: string }>`
    select concat_ws(' ', session_id, extract(epoch from min(opened_at)) * 1000::bigint, sum(requests), count(*) filter (where outcome <> 'completed'), sum(cost_usd)) as line
    from (select *, max(opened_at) over (partition by session_id) as last_at from all_turns) as turns
    where session_id like 'run-%' group by session_id, last_at order by last_at desc, session_id collate "C"`.execute(
    database,
  );
  const seen: string[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page: ListSessionsResponse = await callAsAdministrator(installation, UsageService.method.listSessions, {
      limit: 5,
      cursor,
    });
    for (const each of page.sessions.filter(({ id }) => id.startsWith("run-"))) {
      expect(each.models.length).toBeLessThanOrEqual(5);
      seen.push([each.id, `${each.firstAtMs}.000000`, each.requests, each.failures, each.costUsd].join(" "));
    }
    cursor = page.nextCursor || undefined;
  }
  expect(seen).toEqual(wanted.map(({ line }) => line));
});
