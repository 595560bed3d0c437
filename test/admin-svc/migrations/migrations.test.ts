/** Many processes start at once on an empty database; an old one meets a newer schema. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { migrations } from "@sluice/admin-svc/migrations/index.js";
import { NewerSchemaError, migrate, migrationLock } from "@sluice/admin-svc/store/postgres/migrate.js";
import { prepareSchema } from "@sluice/admin-svc/prepare.js";
import { resolveKeys } from "@sluice/admin-svc/store/access.js";
import { pageOfAssignments } from "@sluice/admin-svc/store/assignments.js";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { listEndUsers } from "@sluice/admin-svc/store/end-users.js";
import { findGuardrail } from "@sluice/admin-svc/store/guardrails.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { addCallsWithoutTurns, insertUsage } from "@sluice/admin-svc/store/ledger/usage.js";
import { toRow } from "@sluice/admin-svc/store/ledger/usage-messages.js";
import { findKey } from "@sluice/admin-svc/store/keys.js";
import { migrationConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { CallOperation, CallPayer } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Kysely, Migrator, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { createDatabase } from "../../support/database.ts";
import { fillPast } from "../../support/ledger/past.ts";
import { usageRecord } from "../usage.ts";

let created: Awaited<ReturnType<typeof createDatabase>>;
let database: Kysely<Database>;
beforeEach(async () => {
  created = await createDatabase();
  database = openDatabase(created.url, migrationConnectionLimits, () => {});
});
afterEach(async () => {
  await database.destroy();
  await created.drop();
});

const applied = async (): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(database);
  return rows.map(({ name }) => name);
};

/** Migrates up to this migration, like an earlier build. */
async function migrateTo(name: string): Promise<void> {
  const migrator = new Migrator({ db: database, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error } = await migrator.migrateTo(name);
  if (error !== undefined) throw error;
}

test("each of ten concurrent starters succeeds, and each migration runs once", async () => {
  const log = openLog("test", "silent");
  await Promise.all(Array.from({ length: 10 }, () => prepareSchema(created.url, log)));
  expect(await applied()).toEqual(Object.keys(migrations));
  const workspaces = await database.selectFrom("workspaces").select(["id", "name"]).execute();
  expect(workspaces).toEqual([{ id: defaultWorkspaceId, name: "default" }]);
  expect(await database.selectFrom("policy_generation").select("generation").execute()).toEqual([{ generation: "1" }]);
});

test("a starter that gets the lock after another's first migration continues with the second", async () => {
  const other = new pg.Client(created.url);
  await other.connect();
  const attempts = [
    // The first attempt's results stay in the caches of the late client's session.
    () => other.query(`select pg_advisory_lock(${migrationLock})`),
    // The migration happens after the transaction of the second attempt has begun.
    async () => {
      await other.query(`select pg_advisory_unlock(${migrationLock})`);
      await migrateTo("0001_access");
    },
  ];
  class LateClient extends pg.Client {
    override query = (async (text: string, values: unknown[]) => {
      if (text.includes("pg_try_advisory_xact_lock")) await attempts.shift()?.();
      return await super.query(text, values);
    }) as pg.Client["query"];
  }
  const pool = new pg.Pool({ connectionString: created.url, max: 1, Client: LateClient });
  const late = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  try {
    await migrate(late);
  } finally {
    await late.destroy();
    await other.end();
  }
  expect(attempts).toEqual([]);
  expect(await applied()).toEqual(Object.keys(migrations));
});

test("a second start makes no change to the schema", async () => {
  await migrate(database);
  await sql`update policy_generation set generation = 7`.execute(database);
  await migrate(database);
  expect(await applied()).toEqual(Object.keys(migrations));
  expect(await database.selectFrom("policy_generation").select("generation").execute()).toEqual([{ generation: "7" }]);
});

test("an upgrade from the first schema keeps all records, and the previous build can still write", async () => {
  await migrateTo("0001_access");
  const [before, during] = ["a".repeat(64), "b".repeat(64)];
  const id = "550e8400-e29b-41d4-a716-446655440000";
  const insertKey = (hash: string) =>
    sql`
    insert into api_keys (hash, workspace_id, name, kind, label)
    values (${hash}, ${defaultWorkspaceId}, 'old', 'inference', 'sk-sl-old')`.execute(database);
  const insertAssignment = (hash: string) =>
    sql`
    insert into guardrail_key_assignments (key_hash, guardrail_id) values (${hash}, ${id})`.execute(database);
  await insertKey(before);
  await sql`
    insert into guardrails (id, workspace_id, name, content_filters)
    values (${id}, ${defaultWorkspaceId}, 'old', '[{"pattern": "x", "label": null, "action": "block"}]')`.execute(
    database,
  );
  await insertAssignment(before);
  await sql`insert into end_users (workspace_id, "user") values (${defaultWorkspaceId}, 'old')`.execute(database);
  const { created_at: createdAt } = await database
    .selectFrom("api_keys")
    .select("created_at")
    .executeTakeFirstOrThrow();

  await migrate(database);
  expect(await applied()).toEqual(Object.keys(migrations));
  await insertKey(during);
  await insertAssignment(during);
  for (const hash of [before, during]) {
    const key = (await resolveKeys(database, [hash])).keys.get(hash);
    expect(key).toMatchObject({ hash, kind: "inference", guardrail: { id, content_filters: [{ pattern: "x" }] } });
    expect(await findKey(database, defaultWorkspaceId, hash)).toMatchObject({
      name: "old",
      disabled: false,
      external_user: null,
      updated_at: null,
      ...(hash === before && { created_at: createdAt }),
    });
  }
  const assigned = await pageOfAssignments(database, { workspaceId: defaultWorkspaceId }, { offset: 0, limit: 10 });
  expect(assigned?.rows).toMatchObject([before, during].map((hash) => ({ key_hash: hash, assigned_by: null })));
  expect(new Set(assigned?.rows.map((row) => row.id)).size).toBe(2);
  expect(await findGuardrail(database, defaultWorkspaceId, id)).toMatchObject({
    name: "old",
    description: null,
    content_filters: [{ pattern: "x", label: null, action: "block" }],
  });
  expect(await listEndUsers(database, defaultWorkspaceId)).toMatchObject([{ user: "old", is_active: true }]);
});

test("an upgrade to account guardrails gives no guardrail or key account rights, and the old build can still write", async () => {
  await migrateTo("0015_detector_rules");
  const [before, during] = ["a".repeat(64), "b".repeat(64)];
  const insertKey = (hash: string) =>
    sql`
    insert into api_keys (hash, workspace_id, name, kind, label)
    values (${hash}, ${defaultWorkspaceId}, 'old', 'management', 'mk-sl-old')`.execute(database);
  const insertGuardrail = (name: string) =>
    sql`
    insert into guardrails (workspace_id, name, content_filters, workspace_default)
    values (${defaultWorkspaceId}, ${name}, '[]', true)`.execute(database);
  await insertKey(before);
  await insertGuardrail("before");
  await migrate(database);
  await insertKey(during);
  await insertGuardrail("during");
  for (const hash of [before, during]) {
    const key = (await resolveKeys(database, [hash])).keys.get(hash);
    expect(key?.workspaceGuardrails).toMatchObject([
      { name: "before", account_default: false },
      { name: "during", account_default: false },
    ]);
    expect(await findKey(database, defaultWorkspaceId, hash)).toMatchObject({ account: false });
  }
});

test("an upgrade to operations gives old records an operation, and the old build still reads and writes kinds", async () => {
  await migrateTo("0023_ocr_calls");
  const ids = Array.from({ length: 7 }, () => randomUUID());
  const insertKind = (turnId: string | undefined, kind: string) =>
    sql`
    insert into usage_records (turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id,
      request_id, opened_at, duration_ms, model, provider, upstream_model, service_tier, status, http_status,
      is_estimated, streamed, kind)
    values (${turnId}, 1, ${turnId}, 1, 'i', ${defaultWorkspaceId}, 'k', 'g', 'r', now(), 1, 'm', 'p', 'u', '',
      'completed', 200, false, false, ${kind})`.execute(database);
  await insertKind(ids[0], "primary");
  await insertKind(ids[1], "charged_ocr");
  await insertKind(ids[2], "moderation");
  await migrate(database);
  await insertKind(ids[3], "primary");
  await insertKind(ids[4], "charged_judge");
  await insertKind(ids[5], "classifier");
  await insertKind(ids[6], "panel");
  // The purpose of earlier calls is known once they are in their turns.
  await fillPast(database);
  const purposes = (turnIds: readonly string[]) =>
    database
      .selectFrom("usage_records")
      .select(["operation", "payer", sql<string>`kind`.as("kind")])
      .where("turn_id", "in", turnIds)
      .orderBy(sql`array_position(${sql.val(turnIds)}::uuid[], turn_id)`)
      .execute();
  expect(await purposes(ids)).toEqual([
    { operation: "turn", payer: "key", kind: "primary" },
    { operation: "ocr", payer: "key", kind: "charged_ocr" },
    { operation: "moderation", payer: "operator", kind: "moderation" },
    { operation: "turn", payer: "key", kind: "primary" },
    { operation: "judge", payer: "key", kind: "charged_judge" },
    { operation: "classifier", payer: "operator", kind: "classifier" },
    { operation: "panel", payer: "key", kind: "panel" },
  ]);
  const own = [
    usageRecord({ operation: CallOperation.OCR, payer: CallPayer.KEY }),
    usageRecord({ operation: CallOperation.MCP, payer: CallPayer.OPERATOR }),
    usageRecord({ operation: CallOperation.SUBAGENT, payer: CallPayer.KEY }),
    usageRecord({ operation: CallOperation.EMBED, payer: CallPayer.KEY }),
    usageRecord({ operation: CallOperation.IMAGE, payer: CallPayer.KEY }),
  ];
  await insertUsage(database, own.map(toRow));
  expect((await purposes(own.map(({ turnId }) => turnId))).map(({ kind }) => kind)).toEqual([
    "charged_ocr",
    "judge",
    "advisor",
    "primary",
    "image",
  ]);
});

test("an upgrade to sums derived from the ledger keeps the old sums", async () => {
  await migrateTo("0026_task");
  const insertCall = (index: number, status: string) =>
    sql`
    insert into usage_records (turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id,
      request_id, opened_at, duration_ms, model, provider, upstream_model, service_tier, status, http_status,
      is_estimated, cost_usd, streamed, first_ms)
    values (${randomUUID()}, 1, ${randomUUID()}, 1, 'i', ${defaultWorkspaceId}, ${`k-${index % 2}`}, ${`g-${index % 7}`}, 'r',
      ${new Date(Date.parse("2026-03-01T22:00:00Z") + index * 2_400_000)}, ${index ** 3}, 'm', 'p', 'u', '', ${status}, 200, false, 0.5, false,
      ${index})`.execute(database);
  for (let index = 0; index < 12; index++) await insertCall(index, index % 3 === 0 ? "failed" : "completed");
  await migrateTo("0027_turns");
  // These records are of a running admin-svc from before turns.
  await insertCall(12, "completed");
  await migrateTo("0031_console_sessions");
  await migrate(database);
  expect(await addCallsWithoutTurns(database)).toBe(13);
  const { turns, wrongSums } = await ledgerState(database);
  expect([turns, wrongSums.filter(({ column }) => column === "dimension")]).toEqual([13, []]);
});

test("a later build's schema is refused by name, and left unchanged", async () => {
  await migrate(database);
  const later = "9999_from_the_future";
  await sql`insert into kysely_migration (name, timestamp) values (${later}, '2099-01-01')`.execute(database);
  await expect(migrate(database)).rejects.toThrow(NewerSchemaError);
  await expect(migrate(database)).rejects.toThrow(later);
  expect(await applied()).toEqual([...Object.keys(migrations), later]);
});

test("a failed migration leaves the schema unchanged", async () => {
  // One table of the first migration exists already, so the migration fails at it.
  await sql`create table policy_log (generation bigint)`.execute(database);
  await expect(migrate(database)).rejects.toThrow("policy_log");
  const { rows } = await sql`select to_regclass('api_keys') as keys, to_regclass('kysely_migration') as list`.execute(
    database,
  );
  expect(rows).toEqual([{ keys: null, list: null }]);
});
