/**
 * Every column of every audit entry, erased or not, is covered by the hash chain, so a change of it is found. Erasures and retention keep the
 * chain intact.
 */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type AuditState, auditStates } from "@sluice/admin-svc/store/audit-check.js";
import { recordAudit } from "@sluice/admin-svc/store/audit.js";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { createEndUser } from "@sluice/admin-svc/store/end-users.js";
import { eraseEndUser } from "@sluice/admin-svc/store/erasure.js";
import { removeExpiredRecords } from "@sluice/admin-svc/store/ledger/retention.js";
import { migrationConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import { type TestDatabase, createMigratedDatabase } from "../../support/database.ts";
import { addWorkspace, testAuthor } from "../installation.ts";

let created: TestDatabase;
let database: Kysely<Database>;
/** Entries 1 and 3 are erased, 2 and 4 are not, and 5 is the erasure. Entry 2 has an address. */
beforeAll(async () => {
  created = await createMigratedDatabase();
  database = openDatabase(created.url, migrationConnectionLimits, () => {});
  await createEndUser(database, testAuthor(), "alice");
  await createEndUser(database, { ...testAuthor(), address: "192.0.2.1" }, "bob");
  await sql`delete from end_users where "user" = 'alice'`.execute(database);
  await createEndUser(database, testAuthor(), "alice");
  await createEndUser(database, testAuthor(), "carol");
  await eraseEndUser(database, testAuthor(), "alice", () => {});
  await addWorkspace(database);
});
afterAll(async () => {
  await database.destroy();
  await created.drop();
});

const stateOf = async (connection: Kysely<Database>): Promise<AuditState> => {
  const state = (await auditStates(connection)).find(({ workspaceId }) => workspaceId === defaultWorkspaceId);
  if (state === undefined) throw new Error("the workspace has a log");
  return state;
};

/** State of the audit log after `change`, in a transaction that is rolled back afterwards. */
async function after(change: (connection: Kysely<Database>) => Promise<unknown>): Promise<AuditState> {
  const transaction = await database.startTransaction().execute();
  try {
    await change(transaction);
    return await stateOf(transaction);
  } finally {
    await transaction.rollback().execute();
  }
}

const [erased, kept, erasure] = ["1", "2", "5"];

test("an audit log with an erasure is intact, and names the erased entries", async () => {
  expect(await stateOf(database)).toMatchObject({ entries: 5, erased: 2, wrong: [], unverifiable: [] });
});

/** A different value for each column of an entry. The workspace is any other than the default one. */
const others: Readonly<Record<string, RawBuilder<unknown>>> = {
  workspace_id: sql`(select id from workspaces where id <> ${defaultWorkspaceId} limit 1)`,
  sequence: sql`sequence + 1000`,
  at: sql`at + interval '1 microsecond'`,
  actor: sql`'somebody'`,
  action: sql`'keys.revoke'`,
  target: sql`'another'`,
  before: sql`'{"name": "forged"}'`,
  after: sql`'{"name": "forged"}'`,
  request_id: sql`'req_forged'`,
  address: sql`case when address is null then '192.0.2.2' end`,
  generation: sql`coalesce(generation, 0) + 1`,
  salt: sql`gen_random_uuid()`,
  digest: sql`sha256('forged')`,
  hash: sql`sha256('forged')`,
  erased_at: sql`coalesce(erased_at, now()) - interval '1 day'`,
};

test("an audit entry without a client address has the same hash as in builds before addresses", async () => {
  const { rows } = await sql<{ sequence: string; is_same: boolean }>`
    select sequence, hash = sha256(lag(hash, 1, ''::bytea) over (order by sequence) || convert_to(json_build_array(
      (extract(epoch from at) * 1000000)::bigint, actor, action, request_id, generation, encode(digest, 'hex'))::text, 'UTF8')) as is_same
    from audit_log where workspace_id = ${defaultWorkspaceId} order by sequence`.execute(database);
  expect(rows.map(({ is_same: isSame }) => isSame)).toEqual([true, false, true, true, true]);
});

test("the table of tampered audit entries has a case for every column", async () => {
  const { rows } = await sql<{ name: string }>`
    select column_name as name from information_schema.columns where table_name = 'audit_log'`.execute(database);
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(others).sort());
});

const cases = Object.keys(others).flatMap((column) =>
  [erased, kept, erasure].map((sequence) => [column, sequence] as const),
);
test.each(cases)("a tampered %s of audit entry %s is found", async (column, sequence) => {
  const { wrong } = await after((connection) =>
    sql`update audit_log set ${sql.ref(column)} = ${others[column]} where sequence = ${sequence}`.execute(connection),
  );
  expect(wrong.length).toBeGreaterThan(0);
});

test.each([
  ["forged content", sql`salt = null, before = null, after = '{"name": "forged"}'`],
  ["forged content and its salt", sql`after = '{"name": "forged"}'`],
  ["no content", sql`salt = null, before = null, after = null, target = null`],
  [
    "the time of a real erasure",
    sql`salt = null, before = null, after = null, target = null, erased_at = (select erased_at from audit_log where sequence = 1)`,
  ],
])("an audit entry disguised as erased is found: with %s", async (_, change) => {
  for (const sequence of [kept, erasure]) {
    const { wrong } = await after(async (connection) => {
      await sql`update audit_log set erased_at = now() where sequence = ${sequence}`.execute(connection);
      await sql`update audit_log set ${change} where sequence = ${sequence}`.execute(connection);
    });
    expect(wrong).toContain(sequence);
  }
});

test("an erased audit entry presented as an entry with content is found", async () => {
  const { wrong } = await after((connection) =>
    sql`update audit_log set erased_at = null, salt = gen_random_uuid(), target = 'x', after = '{}' where sequence = ${erased}`.execute(
      connection,
    ),
  );
  expect(wrong).toEqual([erased]);
});

/** An erasure as recorded by earlier builds: the number of entries without their ids. */
const eraseAsBefore = async (connection: Kysely<Database>, sequence: string, entries: number): Promise<void> => {
  await sql`
    update audit_log set target = null, before = null, after = null, salt = null, erased_at = now() where sequence = ${sequence}`.execute(
    connection,
  );
  const entry = {
    action: "end-users.erase",
    target: "an end user",
    after: { records: 0, keys: 0, entries, registered: true },
  };
  await recordAudit(connection as Transaction<Database>, testAuthor(), entry);
};

test("an erasure by an earlier build is reported as unverifiable: neither wrong nor confirmed", async () => {
  const { wrong, unverifiable } = await after((connection) => eraseAsBefore(connection, kept, 1));
  expect({ wrong, unverifiable }).toEqual({ wrong: [], unverifiable: [kept] });
});

test("more erased audit entries than an earlier build recorded are reported as wrong", async () => {
  const { wrong, unverifiable } = await after(async (connection) => {
    await eraseAsBefore(connection, kept, 1);
    await sql`
      update audit_log set target = null, before = null, after = null, salt = null, erased_at = now() where sequence = 4`.execute(
      connection,
    );
  });
  expect([...wrong, ...unverifiable].sort()).toEqual([kept, "4"]);
  expect(wrong).toHaveLength(1);
});

test("an audit log whose beginning was removed by retention is intact", async () => {
  const removed = [];
  for await (const { count } of removeExpiredRecords(database, testAuthor(), { auditDays: 0 })) removed.push(count);
  expect(removed.length).toBeGreaterThan(0);
  expect(await stateOf(database)).toMatchObject({ wrong: [], unverifiable: [] });
});
