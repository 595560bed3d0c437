/** Claims of due rows, each by one process: never more than the limit, whatever plan Postgres chooses for small tables. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { claimAlerts } from "@sluice/admin-svc/store/alerts/outbox.js";
import { claimAlertRules, putAlertRule } from "@sluice/admin-svc/store/alerts/rules.js";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { type Kysely, sql } from "kysely";
import { testAuthor } from "../installation.ts";
import { Replicas } from "./replicas.ts";

let replicas: Replicas;
beforeAll(async () => {
  replicas = await Replicas.open();
});
afterAll(async () => {
  await replicas.close();
});

const count = 6;

/** Leaves nested loops as the only joins, and none of the ways to keep the result of a sub-select. */
const nestedLoops = ["hashjoin", "mergejoin", "hashagg", "sort", "material", "memoize", "indexscan", "bitmapscan"];

async function withNestedLoops<Result>(work: (connected: Kysely<Database>) => Promise<Result>): Promise<Result> {
  return replicas.database.connection().execute(async (connected) => {
    for (const way of nestedLoops) await sql`set ${sql.raw(`enable_${way}`)} = off`.execute(connected);
    try {
      return await work(connected);
    } finally {
      for (const way of nestedLoops) await sql`reset ${sql.raw(`enable_${way}`)}`.execute(connected);
    }
  });
}

type Claim = (connected: Kysely<Database>, limit: number) => Promise<readonly { readonly id: string }[]>;

const now = (): Date => new Date(Date.now() + 60_000);
const until = (): Date => new Date(Date.now() + 3_600_000);

const claimRules: Claim = async (connected, limit) => claimAlertRules(connected, { now: now(), until: until(), limit });

const claimOutbox: Claim = async (connected, limit) =>
  claimAlerts(connected, { sink: "ops", now: now(), until: until(), limit });

async function addRules(): Promise<void> {
  const settings = { filters: {}, condition: "spend", threshold: 0, window_minutes: 5, min_requests: 1, channels: [] };
  for (let n = 0; n < count; n++)
    await putAlertRule(replicas.database, testAuthor(), {
      name: `rule ${n}`,
      settings: { ...settings, condition: "spend" },
    });
}

async function addAlerts(): Promise<void> {
  await sql`
    insert into alerts (sink, event, workspace_id, type, facts, at, due_at, give_up_at)
    select 'ops', 'event ' || n, ${defaultWorkspaceId}, 'test', '{}', now(), now(), now() + interval '1 day'
    from generate_series(1, ${count}) as n`.execute(replicas.database);
}

interface Waiting {
  readonly workspaceId: string;
  readonly type: string;
  readonly count: number;
}

async function wait(sink: string, { workspaceId, type, count: many }: Waiting): Promise<void> {
  await sql`
    insert into alerts (sink, event, workspace_id, type, facts, at, due_at, give_up_at)
    select ${sink}, gen_random_uuid()::text, ${workspaceId}, ${type}, '{}', now(), now(), now() + interval '1 day'
    from generate_series(1, ${many})`.execute(replicas.database);
}

test("alerts of a workspace do not wait for the many of others, nor for those of another type of its own", async () => {
  for (let n = 0; n < 10; n++) await wait("shared", { workspaceId: randomUUID(), type: "test", count: 20 });
  const workspaceId = randomUUID();
  await wait("shared", { workspaceId, type: "rule.fired", count: 5 });
  await wait("shared", { workspaceId, type: "budget.reached", count: 1 });
  const claimed = await claimAlerts(replicas.database, { sink: "shared", now: now(), until: until(), limit: 8 });
  expect(claimed).toHaveLength(8);
  const own = claimed.filter(({ workspace_id: of }) => of === workspaceId).map(({ type }) => type);
  expect(own.toSorted()).toEqual(["budget.reached", "rule.fired"]);
});

test("alerts of a type that only a later build knows are left to its processes", async () => {
  await wait("later", { workspaceId: defaultWorkspaceId, type: "later.fact", count: 1 });
  await wait("later", { workspaceId: defaultWorkspaceId, type: "rule.fired", count: 1 });
  const claimed = await claimAlerts(replicas.database, { sink: "later", now: now(), until: until(), limit: 8 });
  expect(claimed.map(({ type }) => type)).toEqual(["rule.fired"]);
});

test.each<[string, () => Promise<void>, Claim]>([
  ["due alert rules", addRules, claimRules],
  ["due alerts", addAlerts, claimOutbox],
])("a claim of %s takes no more than its limit in any plan, and each once", async (_, add, claim) => {
  await add();
  const taken = await withNestedLoops(async (connected) => {
    const rounds: string[][] = [];
    for (;;) {
      const rows = await claim(connected, 2);
      if (rows.length === 0) return rounds;
      rounds.push(rows.map(({ id }) => id));
    }
  });
  expect(taken.map((round) => round.length)).toEqual([2, 2, 2]);
  expect(new Set(taken.flat()).size).toBe(count);
});
