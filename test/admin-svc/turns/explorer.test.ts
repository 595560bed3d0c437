/** Sums by any dimensions and filters equal those of the records, to the last picodollar, also of turns that are not in the stored sums yet. */
import { create } from "@bufbuild/protobuf";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { usageSeries } from "@sluice/admin-svc/store/ledger/record-series.js";
import { pageOfTurns } from "@sluice/admin-svc/store/ledger/turn-pages.js";
import { CallOperation, TokenCountsSchema, TurnOutcome } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type ListSessionsResponse, UsageService } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { comparePart, summarize } from "@sluice/admin-svc/rules/usage-change.js";
import { sql } from "kysely";
import fc from "../../support/properties.ts";
import { type AdminInstallation, callAsAdministrator, openInstallation } from "../installation.ts";
import { Process, deliver, startMs } from "./deliveries.ts";
import { deliverRandomTurns, pairsOfTags, seriesAndSums, someSeries, totalsOf } from "./random-turns.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
  await deliverRandomTurns(installation, 150);
});
afterAll(() => installation?.close());

test("sums by any two dimensions and filters equal the records, in hours, days, weeks and months", async () => {
  let count = 0;
  const property = fc.asyncProperty(someSeries, async (some) => {
    const { query, series, points, sums } = await seriesAndSums(installation.database, some);
    count += points.length;
    expect(points).toEqual(sums);
    // Values of a dimension beyond the limit are summed together.
    expect(totalsOf(await usageSeries(installation.database, { ...query, limit: 1 }))).toEqual(totalsOf(series));
  });
  await fc.assert(property, { numRuns: 80 });
  expect(count).toBeGreaterThan(200);
});

test("lists filtered by text, class of statuses, error and task show the matching turns", async () => {
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
  const tagsIn = (row: (typeof all)[number]) => (row["tags"] ?? {}) as Readonly<Record<string, string>>;
  const matches = (
    row: (typeof all)[number],
    { q, status, error, task, tags }: Partial<Record<string, string>>,
  ): boolean =>
    (q === undefined ||
      searched.some((column) => row[column]?.toLowerCase().includes(q.toLowerCase())) ||
      ["generation_id", "request_id", "trace_id"].some((column) => row[column]?.startsWith(q))) &&
    (status === undefined || row["status"]?.startsWith(status.replace("xx", "")) === true) &&
    (error === undefined ||
      (row["outcome"] !== "completed" && [row["error_type"], row["provider_error"]].includes(error))) &&
    (task === undefined || row["task"] === task) &&
    (tags === undefined || (pairsOfTags[tags] ?? []).every(([name, value]) => tagsIn(row)[name] === value));
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
    ...Object.keys(pairsOfTags).map((tags) => ({ tags })),
    { tags: "env=prod, team=ads", q: "acme" },
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

test("a change of a sum is explained by parts that add up to the difference, and by a sentence", async () => {
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
    // Turns of yesterday and of eight days ago, shortly after the beginning of each day.
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

test("the parts of a change of a sum add up to its difference", () => {
  const amount = fc.bigInt(0n, 10n ** 15n);
  const amounts = fc.record({ cost: amount, requests: fc.bigInt(0n, 99n), inputTokens: amount, outputTokens: amount });
  const property = fc.property(amounts, amounts, (before, after) => {
    const part = comparePart({ key: "k", keyName: "", model: "m" }, before, after);
    expect(part.volume + part.tokens + part.price).toBe(after.cost - before.cost);
    expect(summarize(part, [part])).toMatch(/^(?:[+-]\$|No usage|The cost)/);
  });
  fc.assert(property);
});

test("activity filtered by tags has only the calls of turns with these tags", async () => {
  const { database } = installation;
  let count = 0;
  for (const [tags, pairs] of Object.entries(pairsOfTags)) {
    for (const unit of [{}, { byOperation: true }, { keyHash: "a".repeat(64) }, { date: dayOf(startMs) }]) {
      const { activities } = await callAsAdministrator(installation, UsageService.method.listActivity, {
        tags,
        ...unit,
      });
      const { rows } = await sql<{ line: string }>`
        with calls as (
          select call.*, coalesce(ends_turn, operation in ('turn', 'embed')
            and row_number() over (partition by turn_id, operation in ('turn', 'embed') order by attempt desc) = 1) as counts
          from all_calls as call
          where payer = 'key' and opened_at >= (date_trunc('day', now() at time zone 'UTC') - interval '30 days') at time zone 'UTC'
            and exists (
              select from all_turns as turn where (turn.generation_id, turn.key_hash) = (call.generation_id, call.key_hash)
                and turn.tags @> ${JSON.stringify(Object.fromEntries(pairs))}::jsonb
            )
            and (${unit.keyHash ?? null}::text is null or key_hash = ${unit.keyHash ?? null})
            and (${unit.date ?? null}::date is null or (opened_at at time zone 'UTC')::date = ${unit.date ?? null}::date)
        )
        select concat_ws(' ', to_char(opened_at at time zone 'UTC', 'YYYY-MM-DD'), model, provider, ${unit.byOperation ? sql`operation` : sql`null`},
          count(*), count(*) filter (where counts), coalesce(sum(cost_usd), 0)::numeric(24, 12), coalesce(sum(output_tokens), 0)) as line
        from calls group by (opened_at at time zone 'UTC')::date, to_char(opened_at at time zone 'UTC', 'YYYY-MM-DD'), model, provider
          ${unit.byOperation ? sql`, operation` : sql``}`.execute(database);
      const lines = activities.map((each) =>
        [
          each.date,
          each.model,
          each.provider,
          ...(unit.byOperation ? [CallOperation[each.operation ?? 0]?.toLowerCase()] : []),
          each.calls,
          each.requests,
          Number(each.costUsd) === 0 ? "0.000000000000" : each.costUsd,
          each.outputTokens,
        ].join(" "),
      );
      expect([tags, unit, lines.toSorted()]).toEqual([tags, unit, rows.map(({ line }) => line).toSorted()]);
      count += lines.length;
    }
  }
  expect(count).toBeGreaterThan(20);
});

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

test("each session is listed once, by its last turn, with the sums of its turns", async () => {
  const { database } = installation;
  const process = new Process();
  const turns = Array.from({ length: 60 }, (_, n) =>
    process.turn({
      generationId: `gen-${randomUUID()}`,
      openedAtMs: BigInt(startMs + (n % 30) * 60_000),
      sessionId: `run-${n % 13}`,
      outcome: n % 7 === 0 ? TurnOutcome.FAILED : TurnOutcome.COMPLETED,
      model: `acme/m-${n % 8}`,
      tags: n % 3 === 0 ? "team=search, env=prod" : n % 3 === 1 ? "team=ads" : "",
    }),
  );
  await deliver(installation, { calls: [], turns });
  for (const [tags, has] of [
    ["", sql`true`],
    ["team=search", sql`tags ->> 'team' = 'search'`],
    ["team=ads, env=prod", sql`false`],
  ] as const) {
    const { rows: wanted } = await sql<{ line: string }>`
      select concat_ws(' ', session_id, extract(epoch from min(opened_at)) * 1000::bigint, sum(requests), count(*) filter (where outcome <> 'completed'), sum(cost_usd)) as line
      from (select *, max(opened_at) over (partition by session_id) as last_at from all_turns where ${has}) as turns
      where session_id like 'run-%' group by session_id, last_at order by last_at desc, session_id collate "C"`.execute(
      database,
    );
    const seen: string[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const page: ListSessionsResponse = await callAsAdministrator(installation, UsageService.method.listSessions, {
        limit: 5,
        cursor,
        tags,
      });
      for (const each of page.sessions.filter(({ id }) => id.startsWith("run-"))) {
        expect(each.models.length).toBeLessThanOrEqual(5);
        seen.push([each.id, `${each.firstAtMs}.000000`, each.requests, each.failures, each.costUsd].join(" "));
      }
      cursor = page.nextCursor || undefined;
    }
    expect([tags, seen]).toEqual([tags, wanted.map(({ line }) => line)]);
  }
});
