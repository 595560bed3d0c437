/** The pool while processes come and go in DNS. */
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import type { Connect } from "@sluice/proto/lib/lane/link.js";
import { maxSentTurns } from "@sluice/proto/lib/load/pressure.js";
import { LanePool } from "@sluice/gateway/lane/pool.js";
import { ServerLane, type TurnRunner } from "@sluice/inference-svc/entry/lane/server-lane.js";
import type { Open, SessionRequest, SessionResponse } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { type RunTurnRequest, RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { openLog } from "@sluice/proto/lib/log/log.js";

const open: Open = {
  $typeName: "sluice.inference.v1.Open",
  keyHash: "k",
  requestId: "r",
  generationId: "gen-1",
  policyGeneration: 0n,
  deadlineMs: 0,
  credit: 0,
  atMostOnce: true,
  traceparent: "",
  tracestate: "",
};
const listener = { events: () => {}, ended: () => {}, failed: () => {} };
const log = openLog("test", "silent");
const tick = () => new Promise((resolve) => setImmediate(resolve));

/** Inference processes by address; an unstarted process sends no greeting. */
class Processes {
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #started = new Set<string>();
  readonly #earlier = new Set<string>();
  readonly #sessions = new Map<string, (() => void)[]>();
  readonly opened: string[] = [];
  /** Processes that begin each turn at once, and never end one. */
  readonly prompt = new Set<string>();

  /** Greets without capabilities, as builds did before they were requested. */
  startEarlier(address: string): void {
    this.#earlier.add(address);
    this.start(address);
  }

  start(address: string): void {
    this.#started.add(address);
    for (const greet of this.#waiting.get(address) ?? []) greet();
  }

  /** Ends the sessions with the process at this address. */
  lose(address: string): void {
    this.#started.delete(address);
    for (const end of this.#sessions.get(address) ?? []) end();
  }

  readonly connectorFor =
    (address: string): Connect =>
    (client) => {
      let server: ServerLane | undefined;
      this.#sessions.set(address, [...(this.#sessions.get(address) ?? []), () => client.closed(undefined)]);
      const greet = () => {
        const down = (message: SessionResponse) => {
          if (message.hello && this.#earlier.has(address)) message.hello.knows = {};
          setImmediate(() => client.message(message));
          return true;
        };
        const runner: TurnRunner = {
          run: async (_, turn) => {
            this.opened.push(address);
            if (this.prompt.has(address)) turn.accepted();
          },
        };
        server = new ServerLane({ instance: address, draining: false, messages: { write: down }, runner });
      };
      if (this.#started.has(address)) greet();
      else this.#waiting.set(address, [...(this.#waiting.get(address) ?? []), greet]);
      return {
        write: (message: SessionRequest) => (server?.receive(message), true),
        close: () => client.closed(undefined),
      };
    };
}

beforeEach(() => void jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask"] }));
afterEach(() => void jest.useRealTimers());

test("an inference process missing in DNS serves until another one does", async () => {
  const processes = new Processes();
  let known = ["old:1"];
  const pool = new LanePool(async () => new Set(known), processes.connectorFor, log);
  processes.start("old:1");
  await pool.start();
  await tick();
  expect(pool.ready).toBe(true);

  known = ["new:1"];
  await jest.advanceTimersByTimeAsync(5_000);
  pool.open(open, listener);
  await tick();
  expect(processes.opened).toEqual(["old:1"]);

  processes.start("new:1");
  await tick();
  await jest.advanceTimersByTimeAsync(5_000);
  for (let n = 0; n < 4; n++) pool.open(open, listener);
  await tick();
  expect(processes.opened).toEqual(["old:1", "new:1", "new:1", "new:1", "new:1"]);
  pool.stop();
});

test("a turn not yet sent to a lost inference process goes to another, and a sent turn fails", async () => {
  const processes = new Processes();
  processes.start("first:1");
  processes.start("second:1");
  const pool = new LanePool(async () => new Set(["first:1", "second:1"]), processes.connectorFor, log);
  await pool.start();
  await tick();
  const failures: boolean[] = [];
  const failing = { ...listener, failed: (_: unknown, mayHaveBegun: boolean) => void failures.push(mayHaveBegun) };
  // Each process gets its maximum of turns at once, and one more turn waits for it.
  for (let n = 0; n < 2 * maxSentTurns + 2; n++) pool.open({ ...open }, failing);
  await tick();
  expect([processes.opened.length, pool.waiting]).toEqual([2 * maxSentTurns, maxSentTurns + 1]);
  processes.lose("first:1");
  expect(failures).toEqual(Array.from({ length: maxSentTurns }, () => true));
  expect([pool.addresses, pool.waiting]).toEqual([["second:1"], maxSentTurns + 2]);
  pool.stop();
});

describe("a gateway with two inference processes", () => {
  const processes = new Processes();
  let pool: LanePool;
  beforeEach(async () => {
    pool = new LanePool(async () => new Set(["first:1", "second:1"]), processes.connectorFor, log);
    processes.start("first:1");
    processes.start("second:1");
    await pool.start();
    await tick();
  });
  afterEach(() => pool.stop());

  test("counts the turns at both processes for a key's share", () => {
    // Forty keys have a share of 1.6 turns each, while one key has a turn at each process.
    for (let key = 0; key < 39; key++)
      for (let turn = 0; turn < 2; turn++) pool.open({ ...open, keyHash: `key ${key}` }, listener);
    pool.open({ ...open, keyHash: "last" }, listener);
    expect([pool.hasItsShareWaiting("last"), pool.hasItsShareWaiting("key 0")]).toEqual([false, true]);
    pool.open({ ...open, keyHash: "last" }, listener);
    expect(pool.hasItsShareWaiting("last")).toBe(true);
    processes.lose("first:1");
    expect(pool.hasItsShareWaiting("another")).toBe(false);
  });

  test("sends a turn to the process that begins its turns, even if it has more of them or the turn has a session", async () => {
    processes.prompt.add("second:1");
    for (let n = 0; n < 2 * maxSentTurns + 2; n++) {
      pool.open({ ...open }, listener);
      await tick();
    }
    processes.opened.splice(0);
    const sessions = Array.from({ length: 8 }, (_, n) => create(RunTurnRequestSchema, { sessionId: `session ${n}` }));
    for (const request of [undefined, undefined, ...sessions]) pool.open({ ...open, request }, listener);
    await tick();
    expect(processes.opened).toEqual(Array.from({ length: 10 }, () => "second:1"));
  });
});

describe("an inference process without turns", () => {
  const lines: { level: number; host: string; msg: string; err?: { message: string } }[] = [];
  const heard = openLog("test", "info", { write: (line) => void lines.push(JSON.parse(line)) });
  beforeEach(() => void lines.splice(0));

  test("is logged once when it sends no greeting, and again when it takes turns", async () => {
    const processes = new Processes();
    const pool = new LanePool(async () => new Set(["good:1", "mute:1"]), processes.connectorFor, heard);
    processes.start("good:1");
    await pool.start();
    await tick();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(lines).toEqual([]);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(lines).toMatchObject([{ level: 40, host: "mute:1", msg: "an inference process takes no turns" }]);
    processes.start("mute:1");
    await tick();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(lines.slice(1)).toMatchObject([{ level: 30, host: "mute:1", msg: "the inference process takes turns" }]);
    pool.stop();
  });

  test("is logged with the failure when every session fails", async () => {
    const failing: Connect = (client) => {
      setImmediate(() => client.closed(new Error("16 UNAUTHENTICATED")));
      return { write: () => true, close: () => {} };
    };
    const pool = new LanePool(
      async () => new Set(["other:1"]),
      () => failing,
      heard,
    );
    await pool.start();
    await tick();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(lines).toMatchObject([{ host: "other:1", err: { message: "16 UNAUTHENTICATED" } }]);
    pool.stop();
  });

  test("is not logged after its replacement", async () => {
    const processes = new Processes();
    let known = ["old:1"];
    const pool = new LanePool(async () => new Set(known), processes.connectorFor, heard);
    processes.start("old:1");
    await pool.start();
    await tick();
    processes.start("new:1");
    known = ["new:1"];
    for (let n = 0; n < 6; n++) {
      await jest.advanceTimersByTimeAsync(5_000);
      await tick();
    }
    expect(lines).toEqual([]);
    pool.stop();
  });
});

describe("a rollout of inference-svc that is half done", () => {
  const plugins = [{ plugin: { case: "alignment" as const, value: { rules: ["Be brief."] } } }];
  const judged: Open = { ...open, request: create(RunTurnRequestSchema, { model: "acme/large", plugins }) };
  const plain: Open = { ...open, request: create(RunTurnRequestSchema, { model: "acme/large" }) };

  test("sends a turn with a new feature only to a process with that feature, and other turns to any", async () => {
    const processes = new Processes();
    processes.startEarlier("earlier:1");
    processes.start("newer:1");
    const pool = new LanePool(async () => new Set(["earlier:1", "newer:1"]), processes.connectorFor, log);
    await pool.start();
    await tick();
    for (let n = 0; n < 3; n++) pool.open({ ...judged }, listener);
    await tick();
    expect(processes.opened).toEqual(["newer:1", "newer:1", "newer:1"]);
    pool.open({ ...plain }, listener);
    await tick();
    expect(processes.opened.at(-1)).toBe("earlier:1");
    pool.stop();
  });

  test("answers a turn with a feature unknown to every process with 503 and the feature's name", async () => {
    const processes = new Processes();
    processes.startEarlier("earlier:1");
    const pool = new LanePool(async () => new Set(["earlier:1"]), processes.connectorFor, log);
    await pool.start();
    await tick();
    const refusal = {
      status: 503,
      message: "No inference process that is ready knows plugins yet",
      retryAfterMs: 30_000,
    };
    expect(() => pool.open({ ...judged }, listener)).toThrow(expect.objectContaining(refusal));
    expect(() => pool.requireKnown(judged.request as RunTurnRequest)).toThrow(expect.objectContaining(refusal));
    pool.requireKnown(plain.request as RunTurnRequest);
    pool.open({ ...plain }, listener);
    await tick();
    expect(processes.opened).toEqual(["earlier:1"]);
    pool.stop();
  });
});
