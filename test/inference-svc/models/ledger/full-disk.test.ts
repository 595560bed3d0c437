/** The ledger of a process whose files may not grow any more, as on a full disk. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallStart } from "@sluice/inference-svc/models/ledger/record.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type AdminInstallation, openInstallation, serviceToken } from "../../../admin-svc/installation.ts";
import { runProgram } from "../../../support/processes.ts";
import { completedEnd, openedCall } from "./calls.ts";

let installation: AdminInstallation;
let directory: string;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation.close());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const unavailable = FaultReason.UNAVAILABLE;
const module = (path: string) => JSON.stringify(import.meta.resolve(path));

/** A separate process, because the limit holds for a process. `body` may use ledger, limit, open, begins, closed and calls, and sets `result`. */
const programOf = (body: string) => `
  import { execFileSync } from "node:child_process";
  import { Ledger } from ${module("@sluice/inference-svc/models/ledger/ledger.js")};
  import { dial } from ${module("@sluice/proto/lib/rpc/dial.js")};
  import { Registry } from ${module("@sluice/proto/lib/metrics/metrics.js")};
  const [directory, address, token, ...texts] = process.argv.slice(1);
  const [closed, ...calls] = texts.map((text) => JSON.parse(text));
  const logged = [];
  const log = { error: (_, text) => logged.push(text), warn: (_, text) => logged.push(text), info() {} };
  const client = dial(address);
  const registry = new Registry();
  const ledger = new Ledger({ directory, instance: "t", client, token, log, registry });
  const limit = (bytes) => execFileSync("prlimit", ["--pid", String(process.pid), "--fsize=" + bytes + ":"]);
  const open = (call) => {
    let entry;
    const started = new Promise((resolve, reject) => {
      entry = ledger.open(call, {}, (failure) => (failure ? reject(failure) : resolve()));
    });
    started.catch(() => {});
    return { entry, started };
  };
  /** Begins and ends a call. */
  const begins = async (call) => {
    try {
      const { entry, started } = open(call);
      await started;
      entry.close(closed);
      return "begun";
    } catch (error) {
      return error.reason;
    }
  };
  let result;
  ${body}
  await ledger.close(60_000);
  client.close();
  console.log(JSON.stringify({ result, logged }));`;

async function run(body: string, calls: readonly CallStart[]): Promise<unknown> {
  const texts = [completedEnd, ...calls].map((value) => JSON.stringify(value));
  const address = `127.0.0.1:${installation.port}`;
  const args = ["--input-type=module", "-e", programOf(body), directory, address, serviceToken, ...texts];
  const { code, stdout, stderr } = await runProgram(process.execPath, args);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

const stored = async (calls: readonly CallStart[]) => {
  const ids = calls.map(({ turnId }) => turnId);
  const rows = await installation.database.selectFrom("all_calls").selectAll().where("turn_id", "in", ids).execute();
  const found = new Map(rows.map((row) => [row.turn_id, [row.status, row.cost_usd, Number(row.sequence)]]));
  return ids.map((id) => found.get(id));
};

test("ends of calls on a full disk are written once there is room, in order and before any new call", async () => {
  const calls = Array.from({ length: 5 }, () => openedCall());
  const body = `
    const begun = calls.slice(0, 3).map((call) => open(call));
    await begun[2].started;
    limit(1);
    for (const { entry } of begun) entry.close(closed);
    ledger.flush();
    const full = await begins(calls[3]);
    limit("unlimited");
    result = { full, room: await begins(calls[4]) };`;
  expect(await run(body, calls)).toEqual({
    result: { full: unavailable, room: "begun" },
    logged: ["the end of a call waits for room on the disk"],
  });
  const row = (sequence: number) => ["completed", "0.000007000000", sequence];
  expect(await stored(calls)).toEqual([row(1), row(2), row(3), undefined, row(4)]);
});

test.each([
  ["at the end of its turn of the event loop", ""],
  ["before anything is said to a client", "ledger.flush();"],
])("a failed write %s fails every call begun in it, and keeps the ends of other calls", async (_, flush) => {
  const calls = Array.from({ length: 5 }, () => openedCall());
  const body = `
    const first = open(calls[0]);
    await first.started;
    limit(1);
    const begun = calls.slice(1, 4).map((call) => {
      const opened = open(call);
      opened.entry.note({ tokens: closed.tokens });
      return opened;
    });
    first.entry.close(closed);
    ${flush}
    const reasons = (await Promise.allSettled(begun.map(({ started }) => started))).map(({ reason }) => reason?.reason);
    for (const { entry } of begun) entry.close(closed);
    const running = /^sluice_ledger_open_attempts (.*)$/m.exec(await registry.metrics())[1];
    limit("unlimited");
    result = { reasons, open: running, room: await begins(calls[4]) };`;
  expect(await run(body, calls)).toEqual({
    result: { reasons: [unavailable, unavailable, unavailable], open: "0", room: "begun" },
    logged: ["the end of a call waits for room on the disk"],
  });
  const row = (sequence: number) => ["completed", "0.000007000000", sequence];
  expect(await stored(calls)).toEqual([row(1), undefined, undefined, undefined, row(2)]);
});

test("the end of a call is not written if its start fails in the same write", async () => {
  const calls = [openedCall(), openedCall()];
  const body = `
    limit(1);
    const { entry, started } = open(calls[0]);
    entry.close(closed);
    const [{ reason }] = await Promise.allSettled([started]);
    limit("unlimited");
    result = [reason.reason, await begins(calls[1])];`;
  expect(await run(body, calls)).toEqual({ result: [unavailable, "begun"], logged: [] });
  expect(await stored(calls)).toEqual([undefined, ["completed", "0.000007000000", 1]]);
});
