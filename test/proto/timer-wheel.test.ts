/** Time limits served by a single timer of Node: never early, at most one tick late, and silent once stopped. */
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { TimerWheel, tickMs } from "@sluice/proto/lib/time/timer-wheel.js";

let wheel: TimerWheel;
beforeEach(() => {
  jest.useFakeTimers();
  wheel = new TimerWheel();
});
afterEach(() => void jest.useRealTimers());

/** Starts a limit and records when it was reported, in milliseconds after its start. */
function started(ms: number) {
  const startedAt = performance.now();
  const reported: number[] = [];
  const timer = wheel.start(ms, (times: number[]) => times.push(performance.now() - startedAt), reported);
  return { timer, reported };
}

test.each([0, 1, 19, 20, 21, 999, 20_479, 20_480, 61_234.5, 3_600_000])(
  "a time limit of %d ms is reported in time",
  (ms) => {
    jest.advanceTimersByTime(7);
    const { reported } = started(ms);
    jest.advanceTimersByTime(ms + tickMs + 1);
    expect(reported).toHaveLength(1);
    expect(reported[0]).toBeGreaterThanOrEqual(ms);
    expect(reported[0]).toBeLessThanOrEqual(ms + tickMs + 1);
  },
);

test("time limits started at any time, while others expire, are all reported in time", () => {
  const late: number[] = [];
  for (let n = 0; n < 2_000; n++) {
    const ms = (n * 7_919) % 30_000;
    const startedAt = performance.now();
    wheel.start(ms, () => late.push(performance.now() - startedAt - ms), undefined);
    jest.advanceTimersByTime(n % 5);
  }
  jest.advanceTimersByTime(31_000);
  expect(late).toHaveLength(2_000);
  expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...late)).toBeLessThanOrEqual(tickMs + 1);
});

test("a stopped time limit is never reported, and stopping it again has no effect", () => {
  const { timer, reported } = started(100);
  const other = started(100);
  timer.stop();
  timer.stop();
  jest.advanceTimersByTime(200);
  timer.stop();
  other.timer.stop();
  expect(reported).toEqual([]);
  expect(other.reported).toHaveLength(1);
});

test("an infinite time limit is never reported", () => {
  const { timer, reported } = started(Number.POSITIVE_INFINITY);
  jest.advanceTimersByTime(100_000);
  expect(reported).toEqual([]);
  timer.stop();
});

test("a time limit may stop others due at the same time, and start new ones", () => {
  const second = started(50);
  const restarted: unknown[] = [];
  const first = wheel.start(
    30,
    () => {
      second.timer.stop();
      wheel.start(0, (value) => restarted.push(value), "again");
    },
    undefined,
  );
  jest.advanceTimersByTime(0);
  expect(first.tick).toBeLessThanOrEqual(second.timer.tick);
  jest.advanceTimersByTime(100);
  expect(second.reported).toEqual([]);
  expect(restarted).toEqual(["again"]);
});

test("an error in the action of one time limit leaves the others to the next tick", () => {
  wheel.start(
    10,
    () => {
      throw new Error("a bug");
    },
    undefined,
  );
  const { reported } = started(10);
  expect(() => jest.advanceTimersByTime(tickMs)).toThrow("a bug");
  jest.advanceTimersByTime(tickMs + 1);
  expect(reported).toHaveLength(1);
});

test("after a stall of the event loop every expired time limit is reported once", () => {
  const order: number[] = [];
  for (const ms of [100, 40_000, 70_000]) wheel.start(ms, (value: number) => order.push(value), ms);
  const now = performance.now();
  const clock = jest.spyOn(performance, "now").mockReturnValue(now + 60_000);
  jest.advanceTimersByTime(tickMs);
  expect(order.toSorted((a, b) => a - b)).toEqual([100, 40_000]);
  clock.mockRestore();
});

test("no timer of Node remains once no time limit waits", () => {
  const { timer } = started(60_000);
  jest.advanceTimersByTime(100);
  expect(jest.getTimerCount()).toBe(1);
  timer.stop();
  jest.advanceTimersByTime(tickMs + 1);
  expect(jest.getTimerCount()).toBe(0);
});
