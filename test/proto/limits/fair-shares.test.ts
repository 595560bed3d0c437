/** The time of an event loop is divided between keys. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { FairShares, minRestTurns } from "@sluice/proto/lib/load/fair-shares.js";

/** A clock advanced only by work. */
function divided() {
  let now = 0;
  let elsewhere = 0;
  const shares = new FairShares({ now: () => now, used: () => now - elsewhere });
  const done: string[] = [];
  const work = (key: string, ms: number, name = key) => shares.wait(key, () => ((now += ms), done.push(name)));
  const finish = async () => {
    while (shares.waiting > 0) await nextTurn();
  };
  /** Work interrupted in its middle by another process of the machine. */
  const interrupted = (key: string, ms: number) =>
    shares.wait(key, () => ((now += ms), (elsewhere += ms), done.push(key)));
  return { shares, done, work, interrupted, finish, spend: (ms: number) => (now += ms) };
}

describe("long work in a process", () => {
  /** Number of turns of the event loop between two pieces of work with this duration. */
  async function turnsBetween(ms: number, rests: boolean) {
    const shares = new FairShares({ rests });
    let turns = 0;
    const began: number[] = [];
    const busy = () => {
      began.push(turns);
      for (const end = performance.now() + ms; performance.now() < end; );
    };
    for (const key of ["a", "a", "b"]) shares.wait(key, busy);
    for (; shares.waiting > 0; turns++) await nextTurn();
    return began.slice(1).map((turn, index) => turn - began[index]!);
  }

  test("is followed by a pause, in which all other work goes on", async () => {
    for (const turns of await turnsBetween(30, true)) expect(turns).toBeGreaterThanOrEqual(minRestTurns);
    for (const turns of await turnsBetween(30, false)) expect(turns).toBe(1);
  });

  test("waits for its turn even in an idle process", async () => {
    const shares = new FairShares({ rests: true });
    expect(shares.hasTime()).toBe(false);
    await shares.turnOf("a");
  });
});

describe("the shares of keys in a process", () => {
  test("cause no wait while a turn of the event loop has time left, and again in the next one", async () => {
    const { shares, spend } = divided();
    expect([shares.hasTime(), shares.hasTime(), shares.turnOf("a")]).toEqual([true, true, undefined]);
    spend(6);
    expect(shares.hasTime()).toBe(false);
    await nextTurn();
    expect(shares.hasTime()).toBe(true);
  });

  test("put a key with one piece of work next, even if another key has many waiting", async () => {
    const { done, work, finish } = divided();
    for (let count = 0; count < 100; count++) work("busy", 2);
    await nextTurn();
    const before = done.length;
    work("idle", 1);
    await nextTurn();
    expect(before).toBeLessThan(10);
    expect(done.slice(before).indexOf("idle")).toBeLessThan(2);
    await finish();
    expect(done).toHaveLength(101);
  });

  test("are measured in time, not in pieces", async () => {
    const { shares, done, work, finish } = divided();
    for (let count = 0; count < 60; count++) {
      work("long", 3);
      work("short", 1);
    }
    while (shares.waiting > 40) await nextTurn();
    const long = done.filter((key) => key === "long").length;
    expect(long).toBeGreaterThanOrEqual(19);
    expect(long).toBeLessThanOrEqual(22);
    await finish();
  });

  test("exclude time used by another process of the machine", async () => {
    const { shares, done, work, interrupted, finish } = divided();
    for (let count = 0; count < 200; count++) work("busy", 1);
    interrupted("idle", 40);
    while (!done.includes("idle")) await nextTurn();
    const before = done.length;
    work("idle", 1);
    while (shares.waiting > 0 && done.lastIndexOf("idle") < before) await nextTurn();
    // Only a tenth of the time, 4 of 40, is charged, and the running slice ends normally.
    expect(done.lastIndexOf("idle") - before).toBeLessThan(10);
    await finish();
  });

  test("need the processor time once a slice, and after a long piece of work", async () => {
    let now = 0;
    let reads = 0;
    const shares = new FairShares({ now: () => now, used: () => (reads++, now) });
    for (let count = 0; count < 100; count++) shares.wait("short", () => (now += 0.1));
    while (shares.waiting > 0) await nextTurn();
    expect(reads).toBe(2);
    shares.wait("long", () => (now += 3));
    while (shares.waiting > 0) await nextTurn();
    expect(reads).toBe(4);
  });

  test("do not accumulate for an idle key", async () => {
    const { done, work, finish } = divided();
    for (let count = 0; count < 50; count++) work("busy", 2);
    while (done.length < 30) await nextTurn();
    const before = done.length;
    for (let count = 0; count < 20; count++) work("late", 2);
    while (done.length < before + 10) await nextTurn();
    const late = done.slice(before, before + 10).filter((key) => key === "late").length;
    expect(late).toBeGreaterThanOrEqual(4);
    expect(late).toBeLessThanOrEqual(6);
    await finish();
  });

  test("keep the order of the work of one key", async () => {
    const { done, work, finish } = divided();
    for (let count = 0; count < 20; count++) {
      work("a", 2, `a${count}`);
      work("b", 3, `b${count}`);
    }
    await finish();
    const order = (key: string) => done.filter((name) => name.startsWith(key));
    for (const key of ["a", "b"])
      expect(order(key)).toEqual(Array.from({ length: 20 }, (_, count) => `${key}${count}`));
  });

  test("count follow-up work without waiting as part of a key's time", async () => {
    let now = 0;
    const shares = new FairShares({ now: () => now, used: () => now });
    const done: string[] = [];
    const work = (key: string, ms: number) =>
      shares.wait(key, () => process.nextTick(() => void Promise.resolve().then(() => ((now += ms), done.push(key)))));
    for (let count = 0; count < 20; count++) {
      work("long", 9);
      work("short", 1);
    }
    while (done.length < 20) await nextTurn();
    expect(done.slice(0, 20).filter((key) => key === "long").length).toBeLessThanOrEqual(4);
  });

  test("let sockets and timers run between two slices", async () => {
    const { shares, work, finish } = divided();
    let timers = 0;
    const timer = setInterval(() => timers++, 1);
    for (let count = 0; count < 10; count++) {
      work("a", 6);
      shares.wait("a", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2));
    }
    await finish();
    clearInterval(timer);
    expect(timers).toBeGreaterThanOrEqual(5);
  });
});
