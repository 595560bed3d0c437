/** The ledger of a process, over real files and a real admin-svc: written records survive, arrive, and arrive once. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Ledger, type LedgerOptions } from "@sluice/inference-svc/models/ledger/ledger.js";
import type { CallStart } from "@sluice/inference-svc/models/ledger/record.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type AdminInstallation, openInstallation, serviceToken } from "../../../admin-svc/installation.ts";
import { eventually } from "../../../support/processes.ts";
import { beginCall, completedEnd, openedCall, openRefusingPort, tokens } from "./calls.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const files = (folder = directory) => readdirSync(folder).sort();
const log = openLog("test", "silent");

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation.close());

const open = (folder = directory, port = installation.port, others: Partial<LedgerOptions> = {}) => {
  const client = dial(`127.0.0.1:${port}`);
  const registry = new Registry();
  const parts = { instance: "test-1", client, token: serviceToken, log, registry };
  const ledger = new Ledger({ directory: folder, ...parts, ...others });
  return {
    ledger,
    registry,
    end: async (limitMs = 30_000) => {
      await ledger.close(limitMs);
      client.close();
    },
  };
};

const rows = (turnIds: readonly string[]) =>
  installation.database
    .selectFrom("all_calls")
    .selectAll()
    .where("turn_id", "in", [...turnIds])
    .execute();

test("an ended call reaches the ledger by itself, once, numbered without a gap", async () => {
  const { ledger, end } = open();
  const calls = Array.from({ length: 1_200 }, () => openedCall());
  for (const call of calls) beginCall(ledger, call).close(completedEnd);
  const ids = calls.map(({ turnId }) => turnId);
  await eventually(async () => (await rows(ids)).length === 1_200);
  const stored = await rows(ids);
  expect(new Set(stored.map((row) => row.boot_id)).size).toBe(1);
  expect(stored.map((row) => Number(row.sequence)).sort((a, b) => a - b)).toEqual(calls.map((_, n) => n + 1));
  expect(stored[0]).toMatchObject({ status: "completed", input_tokens: "3", cost_usd: "0.000007000000" });
  await end();
  expect(files()).toEqual([]);
});

test("only the first end of a call counts in the ledger", async () => {
  const { ledger, end } = open();
  const call = openedCall();
  const entry = beginCall(ledger, call);
  entry.close({ ...completedEnd, status: "cancelled" });
  entry.close(completedEnd);
  await end();
  expect((await rows([call.turnId])).map(({ status }) => status)).toEqual(["cancelled"]);
});

test("a start after a kill delivers the remaining records, and marks open calls as lost", async () => {
  // A spool as it is after a kill: its records are written, and not delivered.
  const { port, stop } = await openRefusingPort();
  const first = open(directory, port);
  const done = openedCall();
  const under = openedCall();
  beginCall(first.ledger, done).close(completedEnd);
  await beginCall(first.ledger, under).started;
  const left = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
  cpSync(directory, left, { recursive: true });
  await first.end(0);
  await stop();
  const second = open(left);
  await second.end();
  const stored = new Map((await rows([done.turnId, under.turnId])).map((row) => [row.turn_id, row.status]));
  expect(stored).toEqual(
    new Map([
      [done.turnId, "completed"],
      [under.turnId, "lost"],
    ]),
  );
  expect(files(left)).toEqual([]);
  rmSync(left, { recursive: true });
});

test("a lost call is charged its last checkpoint", async () => {
  const { port, stop } = await openRefusingPort();
  const first = open(directory, port);
  const [silent, heard] = [openedCall(), openedCall()];
  const sent = { ...tokens, input: 40, output: 0 };
  beginCall(first.ledger, silent).note({ tokens: sent, costUsd: "0.00004" });
  const entry = beginCall(first.ledger, heard);
  entry.note({ tokens: sent, costUsd: "0.00004" });
  entry.note({ tokens: { ...sent, output: 7 }, costUsd: "0.00005" });
  first.ledger.flush();
  const left = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
  cpSync(directory, left, { recursive: true });
  await first.end(0);
  await stop();
  const second = open(left);
  await second.end();
  const stored = new Map((await rows([silent.turnId, heard.turnId])).map((row) => [row.turn_id, row]));
  const lost = { status: "lost", is_estimated: true, input_tokens: "40" };
  expect(stored.get(silent.turnId)).toMatchObject({ ...lost, output_tokens: "0", cost_usd: "0.000040000000" });
  expect(stored.get(heard.turnId)).toMatchObject({ ...lost, output_tokens: "7", cost_usd: "0.000050000000" });
  rmSync(left, { recursive: true });
});

test("a start after a kill does not deliver records again, since retention may have removed them meanwhile", async () => {
  const first = open();
  const [done, later] = [openedCall(), openedCall()];
  const entry = beginCall(first.ledger, later);
  beginCall(first.ledger, done).close(completedEnd);
  await entry.started;
  await eventually(async () => (await rows([done.turnId])).length === 1);
  await eventually(async () => (await first.registry.metrics()).includes("\nsluice_ledger_undelivered_records 0\n"));
  const left = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
  cpSync(directory, left, { recursive: true });
  entry.close({ ...completedEnd, status: "cancelled" });
  await first.end();
  await installation.database.deleteFrom("usage_records").where("turn_id", "in", [done.turnId, later.turnId]).execute();
  const second = open(left);
  await second.end();
  expect((await rows([done.turnId, later.turnId])).map((row) => [row.turn_id, row.status])).toEqual([
    [later.turnId, "lost"],
  ]);
  expect(files(left)).toEqual([]);
  rmSync(left, { recursive: true });
});

test("a process without traffic ends its spool file once the file is delivered", async () => {
  const keep = { ms: 86_400_000, bytes: 1e9 };
  const { ledger, end } = open(directory, installation.port, { keep, segmentMs: 300 });
  beginCall(ledger, openedCall()).close(completedEnd);
  await eventually(() => files(join(directory, "delivered")).length === 1);
  const waiting = () => files().filter((name) => name !== "delivered");
  // The mark of the delivered file is removed after the file.
  await eventually(() => waiting().length === 1);
  expect(waiting().map((name) => statSync(join(directory, name)).size)).toEqual([0]);
  await end();
});

test("a process killed at its start before the delivery doubles no record", async () => {
  const { port, stop } = await openRefusingPort();
  const first = open(directory, port);
  const calls = Array.from({ length: 50 }, () => openedCall());
  for (const [n, call] of calls.entries()) {
    const entry = beginCall(first.ledger, call);
    if (n % 2 === 0) entry.close(completedEnd);
  }
  first.ledger.flush();
  const left = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
  cpSync(directory, left, { recursive: true });
  await first.end(0);
  for (let start = 0; start < 3; start++) {
    const again = open(left, port);
    const copy = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
    cpSync(left, copy, { recursive: true });
    await again.end(0);
    rmSync(left, { recursive: true });
    cpSync(copy, left, { recursive: true });
    rmSync(copy, { recursive: true });
  }
  await stop();
  const last = open(left);
  await last.end();
  const stored = await rows(calls.map(({ turnId }) => turnId));
  expect(stored.length).toBe(50);
  expect(stored.filter(({ status }) => status === "lost").length).toBe(25);
  rmSync(left, { recursive: true });
});

test("a refused record is set aside, delays no other, and is counted until an operator removes it", async () => {
  const { ledger, registry, end } = open();
  const told = async () => /^sluice_ledger_refused_bytes (.*)$/m.exec(await registry.metrics())?.[1];
  expect(await told()).toBe("0");
  const good = [openedCall(), openedCall()];
  beginCall(ledger, good[0] as CallStart).close(completedEnd);
  beginCall(ledger, openedCall({ user: "a\0b" })).close(completedEnd);
  beginCall(ledger, good[1] as CallStart).close(completedEnd);
  await end();
  expect((await rows(good.map(({ turnId }) => turnId))).length).toBe(2);
  const refused = join(directory, "refused.jsonl");
  expect(readFileSync(refused, "utf8").trim().split("\n").length).toBe(1);
  expect(await told()).toBe(String(statSync(refused).size));
  rmSync(refused);
  expect(await told()).toBe("0");
});

test("records wait while admin-svc is unreachable, and are delivered after its return", async () => {
  const { ledger, end } = open();
  const calls = [openedCall(), openedCall()];
  const ids = calls.map(({ turnId }) => turnId);
  beginCall(ledger, calls[0] as CallStart).close(completedEnd);
  await eventually(async () => (await rows(ids)).length === 1);
  await end();
  const { port, stop } = await openRefusingPort();
  const away = open(directory, port);
  beginCall(away.ledger, calls[1] as CallStart).close(completedEnd);
  await away.end(0);
  expect(files().length).toBe(1);
  await stop();
  const back = open();
  await eventually(async () => (await rows(ids)).length === 2);
  await back.end();
});

test("the records of one turn of the event loop are one write to the spool", async () => {
  const { port, stop } = await openRefusingPort();
  const { ledger, end } = open(directory, port);
  const size = () => statSync(join(directory, files()[0] as string)).size;
  const entries = Array.from({ length: 20 }, () => beginCall(ledger, openedCall()));
  for (const entry of entries) entry.note({ tokens, costUsd: undefined });
  expect(size()).toBe(0);
  await entries[0]?.started;
  const starts = size();
  expect(starts).toBeGreaterThan(20 * 100);
  for (const entry of entries) entry.close(completedEnd);
  expect(size()).toBe(starts);
  ledger.flush();
  const whole = size();
  expect(whole).toBeGreaterThan(starts);
  ledger.flush();
  expect(size()).toBe(whole);
  await end(0);
  await stop();
});

/**
 * Records as many calls as a busy process does, for two seconds; on a busy machine it takes longer.
 * @returns the number of batches in which they arrived
 */
async function batchesUnderLoad(isHeld: boolean): Promise<{ batches: number; seconds: number }> {
  const { ledger, end } = open();
  const ids: string[] = [];
  const startedAt = performance.now();
  // Number of concurrent calls with which a briefly delayed process still counts as busy.
  for (let step = 0; step < 50; step++, await delay(40)) {
    const calls = Array.from({ length: 40 }, () => openedCall({ isHeld }));
    for (const call of calls) beginCall(ledger, call).close(completedEnd);
    ids.push(...calls.map(({ turnId }) => turnId));
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  await eventually(async () => (await rows(ids)).length === ids.length);
  await end();
  // All records of a batch are stored by one transaction, and carry its time.
  return { batches: new Set((await rows(ids)).map((row) => row.recorded_at.getTime())).size, seconds };
}

test("records are delivered in few large batches under load, but at once when a budget holds an amount for a call", async () => {
  const { batches, seconds } = await batchesUnderLoad(false);
  expect(batches).toBeLessThanOrEqual(2 + 2 * seconds);
  expect((await batchesUnderLoad(true)).batches).toBeGreaterThan(batches);
});
