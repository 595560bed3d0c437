/** Activity from sums equals activity from records, however the records arrived: singly, late, in another order, or before the sums existed. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { migrations } from "@sluice/admin-svc/migrations/index.js";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { type ActivityFilter, activityOf } from "@sluice/admin-svc/store/ledger/activity.js";
import { backfills, pendingBackfills } from "@sluice/admin-svc/store/ledger/backfills.js";
import { tryFold } from "@sluice/admin-svc/store/ledger/fold.js";
import { pageOfKeys } from "@sluice/admin-svc/store/key-list.js";
import { toRow } from "@sluice/admin-svc/store/ledger/usage-messages.js";
import { insertUsage } from "@sluice/admin-svc/store/ledger/usage.js";
import { migrate } from "@sluice/admin-svc/store/postgres/migrate.js";
import { migrationConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { CallOperation, CallPayer, type UsageRecord } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type Kysely, Migrator, sql } from "kysely";
import { type TestDatabase, createDatabase } from "../../support/database.ts";
import { Random } from "../../support/random.ts";
import { addKeys, addWorkspace } from "../installation.ts";
import { usageRecord } from "../usage.ts";

let created: TestDatabase;
let database: Kysely<Database>;
beforeEach(async () => {
  created = await createDatabase();
  database = openDatabase(created.url, migrationConnectionLimits, () => {});
});
afterEach(async () => {
  await database.destroy();
  await created.drop();
});

/** The sums as the records have them, by the window of each turn's calls. */
async function activityOfRecords({ workspaceId, date, keyHash, door, ...by }: ActivityFilter) {
  const counts = sql`(operation in ('turn', 'embed')
    and row_number() over (partition by turn_id, operation in ('turn', 'embed') order by attempt desc) = 1)`;
  const { rows } = await sql`
    with calls as (
      select *, to_char(opened_at at time zone 'UTC', 'YYYY-MM-DD') as date, ${counts} as counts,
        coalesce(nullif(service_tier, ''), 'default') as tier, ${by.byOperation ? sql`operation` : sql`null::text`} as shown_operation,
        ${by.byDoor ? sql`door` : sql`null::text`} as shown_door, ${by.byTask ? sql`task` : sql`null::text`} as shown_task
      from usage_records
      where workspace_id = ${workspaceId} and payer = 'key'
        and opened_at >= (date_trunc('day', now() at time zone 'UTC') - interval '30 days') at time zone 'UTC'
        and (${date ?? null}::date is null or (opened_at at time zone 'UTC')::date = ${date ?? null}::date)
        and (${keyHash ?? null}::text is null or key_hash = ${keyHash ?? null}) and (${door ?? null}::text is null or door = ${door ?? null})
    )
    select date, model, provider, tier as service_tier, shown_operation as operation, shown_door as door, shown_task as task,
      coalesce(sum(cost_usd), 0) as cost_usd, count(*) as calls, count(*) filter (where counts) as requests,
      coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(output_tokens), 0) as output_tokens,
      coalesce(sum(reasoning_tokens), 0) as reasoning_tokens
    from calls group by 1, 2, 3, 4, 5, 6, 7
    order by 1 desc, sum(cost_usd) desc nulls last, 2, 3, 4, 5, 6, 7`.execute(database);
  return rows;
}

const dayMs = 86_400_000;
const hashes = ["a".repeat(64), "b".repeat(64), "c".repeat(64)];
const chance = new Random(34);
const random = (limit: number): number => chance.below(limit);
const pick = <Item>(items: readonly Item[]): Item => chance.pick(items);

const unpriced = { costUsd: undefined, tokens: undefined } as const;

/**
 * Random calls of turns with up to four attempts within a day: some are helper calls, paid by others, without a cost, or outside of the days
 * shown.
 */
function someCalls(workspaceIds: readonly string[]): UsageRecord[] {
  const calls = Array.from({ length: 150 }, () => {
    const noon = Math.floor(Date.now() / dayMs - 1 - random(40)) * dayMs + dayMs / 2;
    const turn = {
      turnId: randomUUID(),
      workspaceId: pick(workspaceIds),
      keyHash: pick(hashes),
      door: pick(["chat", "responses"]),
    };
    return Array.from({ length: 1 + random(4) }, (_, n) =>
      usageRecord({
        ...turn,
        attempt: n + 1,
        openedAtMs: BigInt(noon + n * 60_000),
        model: pick(["acme/one", "acme/two"]),
        provider: pick(["acme", "other"]),
        serviceTier: pick(["", "default", "flex"]),
        operation: pick([CallOperation.TURN, CallOperation.TURN, CallOperation.EMBED, CallOperation.JUDGE]),
        payer: pick([CallPayer.KEY, CallPayer.KEY, CallPayer.KEY, CallPayer.OPERATOR]),
        task: pick([undefined, "code", "prose"]),
        ...(random(6) === 0 && unpriced),
      }),
    );
  }).flat();
  return calls
    .map((call) => [random(1_000_000), call] as const)
    .sort(([one], [other]) => one - other)
    .map(([, call]) => call);
}

async function store(calls: readonly UsageRecord[]): Promise<void> {
  for (let n = 0; n < calls.length; n += 40) await insertUsage(database, calls.slice(n, n + 40).map(toRow));
}

async function expectSameAsRecords(workspaceIds: readonly string[]): Promise<void> {
  const date = new Date(Date.now() - 3 * dayMs).toISOString().slice(0, 10);
  for (const workspaceId of workspaceIds)
    for (const unit of [{}, { byOperation: true }, { byDoor: true }, { byTask: true }])
      for (const named of [
        {},
        { date },
        { keyHash: pick(hashes) },
        { door: "chat" },
        { date, keyHash: pick(hashes), door: "chat" },
      ]) {
        const filter = { workspaceId, ...unit, ...named };
        expect([filter, await activityOf(database, filter)]).toEqual([filter, await activityOfRecords(filter)]);
      }
}

async function migrateTo(name: string): Promise<void> {
  const migrator = new Migrator({ db: database, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error } = await migrator.migrateTo(name);
  if (error !== undefined) throw error;
}

/** State of the tables before activity sums existed. */
const migrateToThePast = (): Promise<void> => migrateTo("0044_captured_contents");

/** Stores calls and sums of days as a build of that time did. */
async function storeInThePast(calls: readonly UsageRecord[]): Promise<void> {
  await sql`
    with stored as (
      insert into usage_records (
        turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at, duration_ms, model, provider,
        upstream_model, service_tier, status, http_status, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, is_estimated,
        cost_usd, streamed, "user", session_id, door, task, operation, payer, first_ms, finish_reason, in_turn
      )
      select turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at, duration_ms, model, provider,
        upstream_model, service_tier, status, http_status, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, is_estimated,
        cost_usd, streamed, "user", session_id, door, task, operation, payer, first_ms, finish_reason, true
      from json_populate_recordset(null::usage_records, ${JSON.stringify(calls.map(toRow))}::json) returning *
    )
    insert into key_days (key_hash, day, cost_usd, attempts)
    select key_hash, (opened_at at time zone 'UTC')::date, coalesce(sum(cost_usd), 0), count(*) from stored where payer = 'key' group by 1, 2`.execute(
    database,
  );
}

test("sums of records in any order equal the records in every grouping, before and after folding", async () => {
  await migrate(database);
  const workspaceIds = [defaultWorkspaceId, await addWorkspace(database)];
  await store(someCalls(workspaceIds));
  await expectSameAsRecords(workspaceIds);
  await tryFold(database);
  await store(someCalls(workspaceIds));
  await expectSameAsRecords(workspaceIds);
  while ((await tryFold(database)) === "some");
  await expectSameAsRecords(workspaceIds);
});

test("activity equals the records at every moment of an upgrade, while earlier records are added and calls arrive", async () => {
  await migrateToThePast();
  const workspaceIds = [defaultWorkspaceId, await addWorkspace(database)];
  const calls = someCalls(workspaceIds);
  await storeInThePast(calls.slice(0, calls.length / 2));
  await migrate(database);
  expect(await pendingBackfills(database)).toContain("activity");
  await store(calls.slice(calls.length / 2));
  await expectSameAsRecords(workspaceIds);
  for (let portion = 0; (await backfills.activity(database)) !== undefined; portion++) {
    if (portion % 100 === 0) await tryFold(database);
    if (portion === 300) await expectSameAsRecords(workspaceIds);
  }
  await expectSameAsRecords(workspaceIds);
  while ((await tryFold(database)) === "some");
  await expectSameAsRecords(workspaceIds);
});

test("keys are sorted by their spend, and by their last use, before and after totals are filled", async () => {
  await migrateToThePast();
  const keys = await addKeys(database, 30);
  const call = (n: number, cost: string) =>
    usageRecord({ keyHash: keys[n] as string, costUsd: cost, openedAtMs: BigInt(Date.now() - n * 1_000) });
  await storeInThePast([call(3, "0.5"), call(7, "0.25"), call(7, "0.5"), call(9, "0.1")]);
  await migrate(database);
  const listed = async (sort: "-spent" | "spent" | "-last_used") => {
    const filter = { workspaceId: defaultWorkspaceId, includeDisabled: true, sort };
    return (await pageOfKeys(database, filter, { offset: 0, limit: 100 })).rows.map(({ hash }) => hash);
  };
  const expectOrder = async (order: readonly number[], last: readonly number[]) => {
    const named = order.map((n) => keys[n]);
    const unused = keys.filter((hash) => !named.includes(hash)).sort();
    expect(await listed("-spent")).toEqual([...named, ...unused.toReversed()]);
    expect((await listed("spent")).slice(-named.length)).toEqual(named.toReversed());
    expect((await listed("-last_used")).slice(0, last.length)).toEqual(last.map((n) => keys[n]));
  };
  await expectOrder([7, 3, 9], [3, 7, 9]);
  await store([call(9, "0.05"), call(3, "0.5")]);
  await expectOrder([3, 7, 9], [3, 7, 9]);
  while ((await backfills.key_totals(database)) !== undefined);
  await expectOrder([3, 7, 9], [3, 7, 9]);
  await store([call(2, "2"), call(9, "4")]);
  await expectOrder([9, 2, 3, 7], [2, 3, 7, 9]);
  const { rows } = await sql`
    select key_hash from key_totals
    where cost_usd <> (select coalesce(sum(cost_usd), 0) from key_days where key_days.key_hash = key_totals.key_hash)`.execute(
    database,
  );
  expect(rows).toEqual([]);
});
