/** Records that a process keeps after their delivery restore a database to the state without the loss. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { appendFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAdmin } from "@sluice/admin-svc/admin.js";
import { runCli } from "@sluice/admin-svc/cli.js";
import type { Database } from "@sluice/admin-svc/store/database.js";
import { sumAll } from "@sluice/admin-svc/store/ledger/fold.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { deleteWorkspace } from "@sluice/admin-svc/store/workspaces.js";
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import { Ledger } from "@sluice/inference-svc/models/ledger/ledger.js";
import { TurnRecordSchema } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { newId, newUuid } from "@sluice/proto/lib/ids/id.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type Kysely, sql } from "kysely";
import { serviceToken, testAuthor } from "../../../admin-svc/installation.ts";
import { turnRecord } from "../../../admin-svc/turns/deliveries.ts";
import { type TestDatabase, copyOfDatabase, createMigratedDatabase } from "../../../support/database.ts";
import { eventually } from "../../../support/processes.ts";
import { beginCall, completedEnd, openedCall, tokens } from "./calls.ts";

const log = openLog("test", "silent");
const keep = { ms: 86_400_000, bytes: 1e9 };

let directory: string;
let live: TestDatabase;
let backup: TestDatabase | undefined;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "sluice-test-replay-"));
  live = await createMigratedDatabase();
  backup = undefined;
});
afterEach(async () => {
  rmSync(directory, { recursive: true, force: true });
  await live.drop();
  await backup?.drop();
});

async function serve({ url: databaseUrl }: TestDatabase, port = 0) {
  const lifecycle = new Lifecycle(log);
  const options = { serviceToken, bootstrapKeys: [], lifecycle, log, registry: new Registry() };
  const server = await openAdmin({ ...options, databaseUrl, port });
  return { port: server.port, stop: () => lifecycle.drain(0) };
}

async function on<Result>({ url }: TestDatabase, work: (database: Kysely<Database>) => Promise<Result>) {
  const database = openDatabase(url, writeConnectionLimits, () => {});
  try {
    return await work(database);
  } finally {
    await database.destroy();
  }
}

function openLedger(port: number) {
  const client = dial(`127.0.0.1:${port}`);
  const registry = new Registry();
  const ledger = new Ledger({ directory, keep, instance: "test-1", client, token: serviceToken, log, registry });
  const isDelivered = async () =>
    (await registry.metrics()).includes("\nsluice_ledger_undelivered_records 0\n") &&
    (await registry.metrics()).includes("\nsluice_ledger_delivery_delay_seconds 0\n");
  const close = async () => {
    await ledger.close(30_000);
    client.close();
  };
  return { ledger, delivered: () => eventually(isDelivered), close };
}

const keyHashes = ["a", "b", "c"].map((letter) => letter.repeat(64));
let spent = 0;

/**
 * A turn of a key with this number of calls, each with a different cost.
 * @returns the calls
 */
function runTurn(ledger: Ledger, keyHash: string, calls: number, openedAtMs = Date.now()) {
  const generationId = `gen-${newUuid()}`;
  const opened = Array.from({ length: calls }, (_, at) => openedCall({ keyHash, generationId, attempt: at + 1 }));
  for (const call of opened) {
    const cost = `0.${String(++spent).padStart(12, "0")}`;
    beginCall(ledger, call).close({ ...completedEnd, tokens: { ...tokens, output: spent }, costUsd: cost });
  }
  ledger.recordTurn(create(TurnRecordSchema, turnRecord({ generationId, keyHash, openedAtMs: BigInt(openedAtMs) })));
  return opened;
}

/** Turns with none, one and three calls, of each key. */
function runTurns(ledger: Ledger, count: number): void {
  for (let at = 0; at < count; at++) runTurn(ledger, keyHashes[at % 3] as string, [1, 1, 0, 3][at % 4] as number);
}

async function replay(database: TestDatabase, ...options: string[]) {
  let output = "";
  const write = (text: string) => void (output += text);
  const args = ["ledger", "replay", "--directory", directory, "--json", ...options];
  const code = await runCli(args, { databaseUrl: database.url, stdout: { write }, stderr: { write } });
  expect([code, output]).toEqual([0, expect.stringMatching(/^\{/)]);
  return JSON.parse(output) as Record<string, number>;
}

const restoredTables = {
  calls: `select turn_id, attempt, boot_id, sequence, key_hash, generation_id, opened_at, status, cost_usd, output_tokens from all_calls order by 1, 2`,
  turns: `select generation_id, key_hash, opened_at, outcome, http_status, attempts, cost_usd, output_tokens, model, requests from all_turns order by 1`,
  keys: `select * from key_days order by 1, 2`,
  totals: `select key_hash, cost_usd, last_used_at from key_totals order by 1`,
  workspaces: `select * from workspace_days order by 1, 2`,
  sums: `select workspace_id, dimension, step, at, value, requests, attempts, cost_usd, input_tokens, output_tokens from usage_sums order by 1, 2, 3, 4, 5`,
  activity: `select day, model, key_hash, cost_usd, calls, requests from activity_days order by 1, 2, 3`,
  numbers: `select boot_id, last_sequence, records, missing::text from turn_deliveries order by 1`,
  holds: `select turn_id from budget_reservations order by 1`,
} as const;

/** Everything in a database that records determine, once they are in the sums. */
const stateOf = (database: TestDatabase) =>
  on(database, async (connected) => {
    await sumAll(connected);
    const { gaps, wrongSums } = await ledgerState(connected);
    const state: Record<string, unknown> = { gaps, wrongSums };
    for (const [name, text] of Object.entries(restoredTables))
      state[name] = (await sql.raw(text).execute(connected)).rows;
    return state;
  });

const hold = (database: TestDatabase, turnId: string, bootId: string) =>
  on(database, (connected) =>
    sql`insert into budget_reservations (turn_id, attempt, key_hash, amount_usd, boot_id, expires_at)
      values (${turnId}, 1, ${keyHashes[0]}, 0.5, ${bootId}, now())`.execute(connected),
  );

test("a replay gives a restored database its missing records, also while a process runs, and only once", async () => {
  let admin = await serve(live);
  const { port } = admin;
  const { ledger, delivered, close } = openLedger(port);
  runTurns(ledger, 40);
  const underWay = openedCall({ keyHash: keyHashes[0] as string });
  const entry = beginCall(ledger, underWay);
  await entry.started;
  await delivered();
  await hold(live, underWay.turnId, ledger.bootId);
  const [neverBegun, ofOther] = [newUuid(), newUuid()];
  await hold(live, neverBegun, ledger.bootId);
  await hold(live, ofOther, newUuid());
  await admin.stop();
  backup = await copyOfDatabase(live.url);

  admin = await serve(live, port);
  entry.close(completedEnd);
  runTurns(ledger, 60);
  await delivered();
  await on(live, (connected) => sql`delete from budget_reservations where turn_id = ${neverBegun}`.execute(connected));
  await admin.stop();

  // The process continues with the restored database, so its next records come before the missing ones.
  admin = await serve(backup, port);
  runTurns(ledger, 20);
  await delivered();
  const trial = await replay(backup, "--dry-run");
  expect(trial).toMatchObject({ turns: 60, refused: 0, expired: 0, without_start: 0, damaged: 0 });
  const { gaps } = await on(backup, ledgerState);
  expect(gaps.map(({ missing }) => missing).toSorted((one, other) => one - other)).toEqual([60, 76]);
  runTurns(ledger, 20);
  const [first] = await Promise.all([replay(backup), delivered()]);
  expect(first["turns"]).toBeGreaterThanOrEqual(60);
  await close();
  await admin.stop();

  // The original database lacks records that only the restored one has got.
  expect(await replay(live)).toMatchObject({ turns: 40 });
  await replay(backup);
  const [restored, expected] = [await stateOf(backup), await stateOf(live)];
  expect(restored).toEqual(expected);
  expect(restored).toMatchObject({ gaps: [], wrongSums: [], holds: [{ turn_id: ofOther }] });
  expect(await replay(backup)).toMatchObject({ calls: 0, turns: 0, known: 316 });
  expect(await stateOf(backup)).toEqual(expected);
});

test("a replay leaves out records of days that retention has removed", async () => {
  const admin = await serve(live);
  const { ledger, close } = openLedger(admin.port);
  runTurns(ledger, 4);
  await close();
  await admin.stop();
  backup = await createMigratedDatabase();
  await on(backup, (connected) => sql`update ledger_retention set kept_from = current_date + 2`.execute(connected));
  expect(await replay(backup)).toMatchObject({ calls: 0, turns: 0, known: 0, expired: 9 });
});

test("a replay leaves out calls of a turn from a removed day, also those that began after midnight", async () => {
  const admin = await serve(live);
  const { ledger, close } = openLedger(admin.port);
  runTurn(ledger, keyHashes[0] as string, 2, Date.now() - 2 * 86_400_000);
  await close();
  await admin.stop();
  backup = await createMigratedDatabase();
  await on(backup, (connected) => sql`update ledger_retention set kept_from = current_date - 1`.execute(connected));
  expect(await replay(backup)).toMatchObject({ calls: 0, turns: 0, known: 0, expired: 3 });
});

test.each<[string, boolean]>([
  ["whose record lies in another batch", true],
  ["without a record", false],
])("a replay leaves out calls of a turn from a removed day %s", async (_, hasRecord) => {
  const admin = await serve(live);
  const { ledger, close } = openLedger(admin.port);
  const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  const [keyHash = ""] = keyHashes;
  const generationId = newId("gen-", midnight - 60_000);
  const call = (attempt: number) => openedCall({ keyHash, generationId, attempt, openedAtMs: midnight + attempt });
  for (const attempt of [1, 2]) beginCall(ledger, call(attempt)).close(completedEnd);
  runTurns(ledger, 600);
  const openedAtMs = BigInt(midnight - 60_000);
  if (hasRecord) ledger.recordTurn(create(TurnRecordSchema, turnRecord({ generationId, keyHash, openedAtMs })));
  beginCall(ledger, call(3)).close(completedEnd);
  // A record that admin-svc refuses, so that those of its batch are stored one by one.
  beginCall(ledger, openedCall({ workspaceId: "nobody", generationId: "gen-refused" })).close(completedEnd);
  await close();
  await admin.stop();
  backup = await createMigratedDatabase();
  await on(backup, (connected) => sql`update ledger_retention set kept_from = current_date`.execute(connected));
  expect(await replay(backup)).toMatchObject({ turns: 600, expired: hasRecord ? 4 : 3, refused: 1 });
  const { rows } = await on(backup, (connected) =>
    sql`select from all_calls where generation_id = ${generationId}`.execute(connected),
  );
  expect(rows).toEqual([]);
});

test("a replay restores records of a deleted workspace without it, and leaves out those of a missing one", async () => {
  const deleted = await on(live, createDeletedWorkspace);
  const keyOf = (letter: string) => letter.repeat(64);
  backup = await copyOfDatabase(live.url);
  const admin = await serve(live);
  const { ledger, close } = openLedger(admin.port);
  for (const [workspaceId, keyHash] of [
    [deleted, keyOf("d")],
    [newUuid(), keyOf("e")],
  ] as const) {
    const generationId = `gen-${newUuid()}`;
    beginCall(ledger, openedCall({ workspaceId, keyHash, generationId })).close(completedEnd);
    ledger.recordTurn(
      create(TurnRecordSchema, turnRecord({ workspaceId, generationId, keyHash, openedAtMs: BigInt(Date.now()) })),
    );
  }
  await close();
  await admin.stop();
  const owned = `select id, name, deleted_at::text from workspaces order by 1`;
  const keys = `select hash, workspace_id, revoked_at::text from api_keys order by 1`;
  const read = (text: string) =>
    on(backup as TestDatabase, async (connected) => (await sql.raw(text).execute(connected)).rows);
  const before = [await read(owned), await read(keys)];
  expect(await replay(backup)).toMatchObject({ calls: 1, turns: 1, foreign: 2, expired: 0, refused: 0 });
  expect([await read(owned), await read(keys)]).toEqual(before);
  const sums = `select workspace_id, attempts::int from workspace_days`;
  expect(await read(sums)).toEqual([{ workspace_id: deleted, attempts: 1 }]);
  expect(await read("select workspace_id from all_turns")).toEqual([{ workspace_id: deleted }]);
  expect(await read("select key_hash from key_totals")).toEqual([{ key_hash: keyOf("d") }]);
});

async function createDeletedWorkspace(database: Kysely<Database>): Promise<string> {
  const id = newUuid();
  await sql`insert into workspaces (id, name) values (${id}, 'research')`.execute(database);
  await deleteWorkspace(database, testAuthor(id));
  return id;
}

test("a replay leaves out records behind damage in a file, and a call whose beginning is lost", async () => {
  const admin = await serve(live);
  const first = openLedger(admin.port);
  runTurns(first.ledger, 4);
  await first.close();
  const folder = join(directory, "delivered");
  const [name = ""] = readdirSync(folder);
  appendFileSync(join(folder, name), Buffer.from("no record, but long enough to be one"));
  backup = await createMigratedDatabase();
  expect(await replay(backup)).toMatchObject({ calls: 5, turns: 4, damaged: 1 });
  await admin.stop();
});
