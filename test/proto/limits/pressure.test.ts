/** When a process counts as overloaded, and the work it still accepts then. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import { memoryUsePercent } from "@sluice/proto/lib/load/memory.js";
import { openMetrics } from "@sluice/proto/lib/metrics/metrics.js";
import { Pressure, StandingQueue } from "@sluice/proto/lib/load/pressure.js";

describe("a queue is overloaded", () => {
  let queue: StandingQueue;
  beforeEach(() => {
    queue = new StandingQueue(50, 25);
  });
  /** Sizes of the queue, one after each interval of this many milliseconds. */
  const looks = (everyMs: number, from: number, ...sizes: readonly number[]): boolean[] =>
    sizes.map((size, index) => {
      queue.look(size, from + index * everyMs);
      return queue.stands;
    });

  test("when it was too long at every check of a second", () => {
    expect(looks(500, 0, 51, 51, 51)).toEqual([false, false, true]);
  });

  test("only after repeated long waits, not after a single one", () => {
    expect(looks(500, 0, 5_000, 0, 51, 51, 50, 51, 51)).not.toContain(true);
  });

  test("until it was calm for a second", () => {
    looks(500, 0, 51, 51, 51);
    expect(looks(500, 2_000, 25, 26, 25, 25, 25)).toEqual([true, true, true, true, false]);
  });
});

describe("an inference process under pressure", () => {
  let clock: number;
  let waiting: number;
  let memory: number;
  let said: string[];
  let pressure: Pressure;
  beforeEach(() => {
    clock = 0;
    waiting = 0;
    memory = 50;
    said = [];
    const log = { warn: (_: object, line: string) => void said.push(line) };
    pressure = new Pressure({
      waiting: () => waiting,
      memory: () => memory,
      log: log as never,
      registry: openMetrics("test"),
      now: () => clock,
    });
  });
  /** Runs turns of the event loop with this duration. */
  const turns = (count: number, ms: number) => {
    for (let index = 0; index < count; index++) {
      clock += ms;
      pressure.beat();
    }
  };

  test("refuses nothing while idle, busy, or after a single stall", () => {
    turns(100, 20);
    turns(100, 215);
    turns(1, 3_000);
    turns(1, 20);
    turns(4, 300);
    clock += 1_000;
    expect([pressure.refuses(), said]).toEqual([false, []]);
  });

  test("with constantly late timers works for 60 ms of each turn of its loop, and refuses the rest", () => {
    turns(5, 300);
    expect(pressure.refuses()).toBe(false);
    clock += 60;
    expect(pressure.refuses()).toBe(false);
    clock += 1;
    expect(pressure.refuses()).toBe(true);
    pressure.beat();
    expect(pressure.refuses()).toBe(false);
    // The process stays overloaded while its timers are late.
    turns(100, 80);
    clock += 61;
    expect(pressure.refuses()).toBe(true);
    turns(60, 20);
    clock += 1_000;
    expect(pressure.refuses()).toBe(false);
    expect(said).toEqual(["overloaded: new turns may be refused", "no longer overloaded"]);
  });

  test("takes no more turns while it begins none of them", () => {
    waiting = 65;
    turns(50, 20);
    expect(pressure.refuses()).toBe(false);
    turns(1, 20);
    expect(pressure.refuses()).toBe(true);
    // The process refuses turns until the queue is short again.
    waiting = 32;
    expect(pressure.refuses()).toBe(true);
    waiting = 31;
    expect(pressure.refuses()).toBe(false);
    waiting = 0;
    turns(52, 20);
    waiting = 1_000;
    expect(pressure.refuses()).toBe(false);
  });

  test("with too much memory in use for a second takes on no work until it has released some for as long", () => {
    memory = 101;
    turns(50, 20);
    expect(pressure.refuses()).toBe(false);
    turns(10, 20);
    expect(pressure.refuses()).toBe(true);
    memory = 91;
    turns(100, 20);
    expect(pressure.refuses()).toBe(true);
    memory = 90;
    turns(61, 20);
    expect([pressure.refuses(), said]).toEqual([
      false,
      ["overloaded: new turns may be refused", "no longer overloaded"],
    ]);
  });

  test("reports its memory in use as a percentage", () => {
    expect(memoryUsePercent()).toBeGreaterThan(0);
    expect(memoryUsePercent()).toBeLessThan(100);
  });
});
