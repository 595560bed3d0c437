/** Pages of turns and series read hardly more than they show, for any number of turns. Pages of the database are counted, not time. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { type TurnFilter, listTurns, searchTurns, turnsQuery } from "@sluice/admin-svc/store/ledger/generations.js";
import { usageSeries } from "@sluice/admin-svc/store/ledger/record-series.js";
import { dimensions } from "@sluice/admin-svc/store/ledger/usage-rollup.js";
import { Kysely, PostgresDialect, type RawBuilder, sql } from "kysely";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { type AdminInstallation, openInstallation } from "../installation.ts";

const rows = 100_000;
/** Page limit for rows that each lie on a separate page of the table, plus as many index steps. */
const maxPages = 500;

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
  await sql`
    insert into turns
    select 'gen-' || lpad(n::text, 7, '0'), md5((n % 50)::text) || md5((n % 50)::text), ${defaultWorkspaceId}, 'req_' || n,
      timestamptz '2026-01-01' + n * interval '10 seconds', 900, 200,
      case when n % 5000 = 7 then 'messages' else 'responses' end, case when n % 5000 = 9 then 'embed' else 'turn' end, null,
      'acme/m' || (n % 20), case when n % 10000 = 3 then 'acme/rare' else 'acme/m' || (n % 20) end,
      case when n % 10000 = 3 then 'rare' else 'acme' end, 'default',
      case when n % 500 = 0 then 'refused' else 'completed' end, case when n % 500 = 0 then 403 else 200 end, null,
      case when n % 500 = 0 then 'g-' || (n % 3) end, null, 'stop', false, case when n % 7 = 0 then 'u-' || (n % 900) end,
      case when n % 7 = 0 then 's-' || (n % 9000) end, null, 1, 1, 0.000123456789, 10, 0, 20, 0, false, 1, true
    from generate_series(1, ${sql.lit(rows)}) as n`.execute(installation.database);
  await sql`vacuum analyze turns`.execute(installation.database);
}, 300_000);
afterAll(() => installation?.close());

interface Plan {
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
}

const filters: readonly [string, Omit<TurnFilter, "workspaceId">][] = [
  ["nothing", {}],
  ["a key", { keyHash: "c4ca4238a0b923820dcc509a6f75849bc4ca4238a0b923820dcc509a6f75849b" }],
  ["a frequent model", { model: "acme/m7" }],
  ["a rare model", { model: "acme/rare" }],
  ["a rare provider", { provider: "rare" }],
  ["a status", { status: 403 }],
  ["the usual status", { status: 200 }],
  ["an end user", { user: "u-14" }],
  ["a session", { sessionId: "s-14" }],
  ["a request", { requestId: "req_500" }],
  ["a rare door", { door: "messages" }],
  ["a rare operation", { operation: "embed" }],
  ["a guardrail", { guardrailId: "g-1" }],
  ["an outcome", { outcome: "refused" }],
  ["an outcome that no turn had", { outcome: "lost" }],
  ["a time", { from: new Date("2026-01-02T00:00:00Z"), to: new Date("2026-01-02T01:00:00Z") }],
];

async function pagesRead(query: RawBuilder<unknown>): Promise<number> {
  const { rows: explained } = await sql<{ "QUERY PLAN": readonly { Plan: Plan }[] }>`
    explain (analyze, buffers, format json) ${query}`.execute(installation.database);
  const plans = explained.flatMap((row) => row["QUERY PLAN"]).map(({ Plan }) => Plan);
  expect(plans).toHaveLength(1);
  return plans.reduce((sum, plan) => sum + plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], 0);
}

test.each(filters)("a page of turns by %s reads a bounded number of table pages", async (_, filter) => {
  const middle = { openedAt: new Date("2026-01-06T00:00:00Z"), generationId: "gen-" };
  for (const after of [undefined, middle]) {
    const query = turnsQuery({ workspaceId: defaultWorkspaceId, ...filter }, 51, after);
    expect(await pagesRead(query)).toBeLessThan(maxPages);
  }
});

test("consecutive pages of turns show every turn once", async () => {
  const filter = { workspaceId: defaultWorkspaceId, status: 403 };
  const seen: string[] = [];
  for (let page = await listTurns(installation.database, filter, 30); page.length > 0; ) {
    seen.push(...page.map(({ generation_id: id }) => id));
    const last = page.at(-1) as (typeof page)[number];
    page = await listTurns(installation.database, filter, 30, {
      openedAt: last.opened_at,
      generationId: last.generation_id,
    });
  }
  expect([seen.length, new Set(seen).size]).toEqual([rows / 500, rows / 500]);
  expect(seen).toEqual(seen.toSorted((a, b) => (a < b ? 1 : -1)));
});

test("a page of a small workspace is complete, however slow the database is", async () => {
  const workspaceId = randomUUID();
  await sql`
    insert into turns
    select (jsonb_populate_record(turn, jsonb_build_object('workspace_id', ${workspaceId}::text, 'generation_id', 'gen-small-' || n,
      'opened_at', now() - n * interval '10 days'))).*
    from (select turns as turn from turns where model = 'acme/m7' and door = 'responses' limit 1) as one cross join generate_series(1, 3) as n`.execute(
    installation.database,
  );
  // Each statement takes longer than an entire search of a large ledger is allowed to take.
  class SlowClient extends pg.Client {
    override query = (async (text: string, values: unknown[]) => {
      await delay(250);
      return await super.query(text, values);
    }) as pg.Client["query"];
  }
  const pool = new pg.Pool({ connectionString: installation.databaseUrl, max: 1, Client: SlowClient });
  const slow = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  try {
    const filter = { workspaceId, model: "acme/m7", door: "responses" };
    const { rows: found, readTo } = await searchTurns(slow, filter, 10);
    expect([found.map(({ generation_id: id }) => id), readTo]).toEqual([
      ["gen-small-1", "gen-small-2", "gen-small-3"],
      undefined,
    ]);
  } finally {
    await slow.destroy();
  }
});

test("a series reads sums, and no turn", async () => {
  const period = { from: new Date("2026-01-01T00:00:00Z"), to: new Date("2026-01-12T00:00:00Z") };
  const workspaceId = randomUUID();
  const day = sql.raw("24 * (h / 24)");
  await sql`
    with hours as (
      select unit, h, 'v-' || v as value, 1 as values from unnest(${[...dimensions]}::text[]) as unit, generate_series(0, 250) as h, generate_series(1, 20) as v
      union all
      select unit, h, '', 20 from unnest(array['all', 'turns']) as unit, generate_series(0, 250) as h
    )
    insert into usage_sums
    select ${workspaceId}, unit, step, timestamptz '2026-01-01 00:00Z' + start * interval '1 hour', value, 5 * count(*) * values, 1, 5, 0.5, 1, 1, 1, 1, 0, 0
    from hours cross join lateral (values ('hour', h), ('day', ${day})) as steps (step, start)
    group by unit, step, start, value, values`.execute(installation.database);
  for (const by of dimensions) {
    const series = await usageSeries(installation.database, {
      workspaceId,
      step: "hour",
      by: [by],
      filter: {},
      limit: 5,
      ...period,
    });
    const [{ requests } = { requests: "" }, ...others] = series.filter(
      ({ at, value }) => at === null && value === null,
    );
    expect([requests, others, series.length]).toEqual([String(15 * 251 * 5), [], 252 * 6]);
  }
});
