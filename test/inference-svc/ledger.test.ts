/** The ledger of a process, over real files and a real admin-svc: what was written survives, arrives, and arrives once. */
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from "@jest/globals";
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ledger } from "@sluice/inference-svc/ledger/ledger.js";
import { type Closed, type Opened, callOf, closedLine, openedLine } from "@sluice/inference-svc/ledger/record.js";
import { unfinished } from "@sluice/inference-svc/ledger/recovery.js";
import { Spool } from "@sluice/inference-svc/ledger/spool.js";
import { newUuid } from "@sluice/proto/runtime/id.js";
import { openLog } from "@sluice/proto/runtime/log.js";
import { Registry } from "@sluice/proto/runtime/metrics.js";
import { dial } from "@sluice/proto/runtime/rpc/dial.js";
import { type AdminHouse, openHouse, serviceToken } from "../admin-svc/house.ts";
import { eventually, run } from "../support/processes.ts";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";

const opened = (fields: Partial<Opened> = {}): Opened => ({
  turnId: newUuid(),
  attempt: 1,
  workspaceId: defaultWorkspaceId,
  keyHash: "b".repeat(64),
  generationId: "gen-1",
  requestId: "req_1",
  openedAtMs: Date.now(),
  model: "acme/large-2",
  provider: "acme",
  upstreamModel: "large-2",
  streamed: false,
  ...fields,
});

const closed: Closed = {
  status: "completed",
  httpStatus: 200,
  durationMs: 5,
  serviceTier: "default",
  tokens: { input: 3, cached: 0, cacheWrite: 0, output: 4, reasoning: 0 },
  isEstimated: false,
  costUsd: "0.000007",
};

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const files = (folder = directory) => readdirSync(folder).sort();
const log = openLog("test", "silent");

describe("the spool", () => {
  const spoolIn = (folder: string) =>
    new Spool({ directory: folder, bootId: crypto.randomUUID(), startedAtMs: Date.now(), onSyncFailure: () => {} });

  test("in a folder that cannot be one says which variable names it", () => {
    const file = join(directory, "file");
    writeFileSync(file, "");
    expect(() => spoolIn(file)).toThrow(/^environment:\n {2}SLUICE_SPOOL_DIR: cannot be written to: EEXIST/);
  });

  test("where no folder can be made says so, and does not hang", () => {
    expect(() => spoolIn("/proc/sluice/spool")).toThrow(
      /^environment:\n {2}SLUICE_SPOOL_DIR: cannot be written to: ENOENT/,
    );
  });

  test("torn at any byte it gives back every record that was whole", () => {
    const spool = spoolIn(directory);
    const calls = [opened(), opened({ user: "ü" }), opened()];
    const sizes = calls.map((record) => {
      spool.append(callOf(record), openedLine(record));
      return spool.size;
    });
    const [name = ""] = files();
    const whole = readFileSync(join(directory, name)).length;
    const path = join(directory, "copy.log");
    for (let length = whole; length >= 0; length--) {
      if (length === whole) cpSync(join(directory, name), path);
      else truncateSync(path, length);
      const left = unfinished([{ path, size: length, sealed: true, open: 0 }]);
      const expected = calls.filter((_, index) => (sizes[index] as number) <= length);
      expect([...left.keys()]).toEqual(expected.map(callOf));
    }
    spool.close(false);
  });

  test("what was overwritten ends what is read, and nothing else", () => {
    const spool = spoolIn(directory);
    const calls = [opened(), opened()];
    for (const record of calls) spool.append(callOf(record), openedLine(record));
    const [name = ""] = files();
    const path = join(directory, name);
    appendFileSync(path, "no record, but long enough to be one");
    const left = unfinished([{ path, size: statSync(path).size, sealed: true, open: 0 }]);
    expect([...left.keys()]).toEqual(calls.map(callOf));
    spool.close(false);
  });

  test("what a full disk took half of spoils nothing that is written later", async () => {
    const program = `
      import { Spool } from ${JSON.stringify(import.meta.resolve("@sluice/inference-svc/ledger/spool.js"))};
      const [directory] = process.argv.slice(1);
      const bootId = "00000000-0000-4000-8000-000000000000";
      const spool = new Spool({ directory, bootId, startedAtMs: Date.now(), onSyncFailure: () => {} });
      const line = (turnId, filling) => "o" + JSON.stringify({ turnId, attempt: 1, filling });
      let taken = 0;
      try {
        for (; ; taken++) spool.append(String(taken), line(String(taken), "x".repeat(10_000)));
      } catch (error) {
        spool.append("small", line("small", ""));
        console.log(taken, error.code);
      }`;
    // 64 KiB: the last one is written to the limit, and then refused.
    const limited = 'ulimit -f 64; exec "$@"';
    const args = ["-c", limited, "bash", process.execPath, "--input-type=module", "-e", program, directory];
    const { code, stdout, stderr } = await run("bash", args);
    expect([code, stdout, stderr]).toEqual([0, "6 EFBIG\n", ""]);
    const segments = files().map((name) => ({ path: join(directory, name), size: 0, sealed: true, open: 0 }));
    expect([...unfinished(segments).keys()].map((call) => call.split("/")[0])).toEqual([
      "0",
      "1",
      "2",
      "3",
      "4",
      "5",
      "small",
    ]);
  });

  test("a call that is over is not unfinished, in whichever file its end stands", () => {
    const spool = spoolIn(directory);
    const call = opened({ model: "m".repeat(100_000) });
    spool.append(callOf(call), openedLine(call));
    const other = opened();
    for (let n = 0; n < 200; n++) spool.append(callOf(other), openedLine({ ...other, model: "m".repeat(100_000) }));
    spool.append(callOf(call), closedLine(openedLine(call), closed, { bootId: "b", sequence: 1, instance: "i" }));
    expect(files().length).toBe(2);
    expect([...unfinished(spool.segments).keys()]).toEqual([callOf(other)]);
    spool.close(false);
  });

  test("a file is kept while a call that was begun in it is under way", async () => {
    const spool = spoolIn(directory);
    const call = opened({ model: "m".repeat(100_000) });
    spool.append(callOf(call), openedLine(call));
    const filling = () => {
      const record = opened({ model: "m".repeat(100_000) });
      spool.append(callOf(record), openedLine(record));
      spool.append(callOf(record), closedLine(openedLine(record), closed, { bootId: "b", sequence: 1, instance: "i" }));
    };
    for (let n = 0; n < 200; n++) filling();
    const before = files();
    spool.trim(() => true);
    expect(files()).toEqual(before);
    spool.append(callOf(call), closedLine(openedLine(call), closed, { bootId: "b", sequence: 2, instance: "i" }));
    spool.trim(() => true);
    await eventually(() => files().length === 1);
    expect(files()).toEqual(before.slice(-1));
    spool.close(true);
    expect(files()).toEqual([]);
  });
});

describe("delivery", () => {
  let house: AdminHouse;
  beforeAll(async () => {
    house = await openHouse();
  });
  afterAll(() => house.close());

  const open = (folder = directory, port = house.port) => {
    const client = dial(`127.0.0.1:${port}`);
    const registry = new Registry();
    const ledger = new Ledger({ directory: folder, instance: "test-1", client, token: serviceToken, log, registry });
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
    house.database
      .selectFrom("usage_records")
      .selectAll()
      .where("turn_id", "in", [...turnIds])
      .execute();

  test("what is over arrives by itself, once, and is numbered without a gap", async () => {
    const { ledger, end } = open();
    const calls = Array.from({ length: 1_200 }, () => opened());
    for (const call of calls) ledger.open(call).close(closed);
    const ids = calls.map(({ turnId }) => turnId);
    await eventually(async () => (await rows(ids)).length === 1_200);
    const stored = await rows(ids);
    expect(new Set(stored.map((row) => row.boot_id)).size).toBe(1);
    expect(stored.map((row) => Number(row.sequence)).sort((a, b) => a - b)).toEqual(calls.map((_, n) => n + 1));
    expect(stored[0]).toMatchObject({ status: "completed", input_tokens: "3", cost_usd: "0.000007000000" });
    await end();
    expect(files()).toEqual([]);
  });

  test("only the first end of a call counts", async () => {
    const { ledger, end } = open();
    const call = opened();
    const entry = ledger.open(call);
    entry.close({ ...closed, status: "cancelled" });
    entry.close(closed);
    await end();
    expect((await rows([call.turnId])).map(({ status }) => status)).toEqual(["cancelled"]);
  });

  test("a start after a kill delivers what was left, and says of calls under way that they are lost", async () => {
    // As a kill leaves it: what this ledger has written, while nobody takes it.
    const { port, stop } = await nobody();
    const first = open(directory, port);
    const done = opened();
    const under = opened();
    first.ledger.open(done).close(closed);
    first.ledger.open(under);
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

  test("a call that is lost is charged what was noted last", async () => {
    const { port, stop } = await nobody();
    const first = open(directory, port);
    const [silent, heard] = [opened(), opened()];
    const tokens = { input: 40, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };
    first.ledger.open(silent).note({ tokens, costUsd: "0.00004" });
    const entry = first.ledger.open(heard);
    entry.note({ tokens, costUsd: "0.00004" });
    entry.note({ tokens: { ...tokens, output: 7 }, costUsd: "0.00005" });
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

  test("an end that finds the disk full is written when there is room, and nothing is begun before that", async () => {
    const module = (path: string) => JSON.stringify(import.meta.resolve(path));
    const program = `
      import { execFileSync } from "node:child_process";
      import { setTimeout as delay } from "node:timers/promises";
      import { Ledger } from ${module("@sluice/inference-svc/ledger/ledger.js")};
      import { dial } from ${module("@sluice/proto/runtime/rpc/dial.js")};
      import { Registry } from ${module("@sluice/proto/runtime/metrics.js")};
      const [directory, address, token, closed, other, ...calls] = process.argv.slice(1);
      const errors = [];
      const log = { error: (_, text) => errors.push(text), warn() {}, info() {} };
      const client = dial(address);
      const ledger = new Ledger({ directory, instance: "t", client, token, log, registry: new Registry() });
      const limit = (bytes) => execFileSync("prlimit", ["--pid", String(process.pid), "--fsize=" + bytes + ":"]);
      const entries = calls.map((call) => ledger.open(JSON.parse(call)));
      limit(1);
      for (const entry of entries) entry.close(JSON.parse(closed));
      const begins = () => {
        try {
          ledger.open(JSON.parse(other)).close(JSON.parse(closed));
          return true;
        } catch {
          return false;
        }
      };
      const full = begins();
      limit("unlimited");
      const room = begins();
      await ledger.close(60_000);
      client.close();
      console.log(JSON.stringify({ full, room, errors }));`;
    const calls = Array.from({ length: 3 }, () => opened());
    const other = opened();
    const address = `127.0.0.1:${house.port}`;
    const texts = [closed, other, ...calls].map((value) => JSON.stringify(value));
    const args = ["--input-type=module", "-e", program, directory, address, serviceToken, ...texts];
    const { code, stdout, stderr } = await run(process.execPath, args);
    const errors = ["the end of a call waits for room on the disk"];
    expect([code, stderr, JSON.parse(stdout)]).toEqual([0, "", { full: false, room: true, errors }]);
    const stored = await rows([...calls, other].map(({ turnId }) => turnId));
    expect(stored.map(({ status, cost_usd: cost }) => [status, cost])).toEqual(
      Array.from({ length: 4 }, () => ["completed", "0.000007000000"]),
    );
  });

  test("a start that is killed before it has delivered doubles nothing", async () => {
    const { port, stop } = await nobody();
    const first = open(directory, port);
    const calls = Array.from({ length: 50 }, () => opened());
    for (const [n, call] of calls.entries()) {
      const entry = first.ledger.open(call);
      if (n % 2 === 0) entry.close(closed);
    }
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

  test("one that is refused is kept aside, holds up no other, and is told by a metric until somebody takes it away", async () => {
    const { ledger, registry, end } = open();
    const told = async () => /^sluice_ledger_refused_bytes (.*)$/m.exec(await registry.metrics())?.[1];
    expect(await told()).toBe("0");
    const good = [opened(), opened()];
    ledger.open(good[0] as Opened).close(closed);
    ledger.open(opened({ user: "a\0b" })).close(closed);
    ledger.open(good[1] as Opened).close(closed);
    await end();
    expect((await rows(good.map(({ turnId }) => turnId))).length).toBe(2);
    const refused = join(directory, "refused.jsonl");
    expect(readFileSync(refused, "utf8").trim().split("\n").length).toBe(1);
    expect(await told()).toBe(String(statSync(refused).size));
    rmSync(refused);
    expect(await told()).toBe("0");
  });

  test("while admin-svc is away records wait, and go on when it is back", async () => {
    const { ledger, end } = open();
    const calls = [opened(), opened()];
    const ids = calls.map(({ turnId }) => turnId);
    ledger.open(calls[0] as Opened).close(closed);
    await eventually(async () => (await rows(ids)).length === 1);
    await end();
    const { port, stop } = await nobody();
    const away = open(directory, port);
    away.ledger.open(calls[1] as Opened).close(closed);
    await away.end(0);
    expect(files().length).toBe(1);
    await stop();
    const back = open();
    await eventually(async () => (await rows(ids)).length === 2);
    await back.end();
  });
});

/** A port at which every connection is closed at once. */
async function nobody(): Promise<{ readonly port: number; readonly stop: () => Promise<void> }> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
