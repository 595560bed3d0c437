/** The order of published policy changes does not depend on how, and in which order, the feed gets them. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import { PolicyFeed } from "@sluice/admin-svc/service/policy-feed.js";
import type { Watcher } from "@sluice/admin-svc/service/watcher.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";

const log = openLog("test", "silent");
let feed: PolicyFeed;
let readings: number;
beforeEach(() => {
  readings = 0;
  const read = () => void readings++;
  feed = new PolicyFeed({ generation: 10n, read, log, registry: new Registry() });
});

interface Heard {
  readonly generation: bigint;
  readonly keyHashes: string[];
  readonly all: boolean;
}

/** Joins, and takes the first message, an invalidation of everything. */
async function joined(): Promise<{ watcher: Watcher; next: () => Promise<Heard> }> {
  const watcher = feed.join();
  const messages = watcher.messages();
  const next = async () => {
    const { value } = await messages.next();
    if (!value) throw new Error("the watch ended");
    return { generation: value.generation, keyHashes: value.keyHashes, all: value.all };
  };
  expect(await next()).toEqual({ generation: 10n, keyHashes: [], all: true });
  return { watcher, next };
}

describe("a policy change committed by this process", () => {
  test("is published at once, without reading the log, and enforced when acknowledged", async () => {
    const { watcher, next } = await joined();
    const enforced = feed.enforced({ generation: 11n, keyHashes: ["a"] });
    expect(await next()).toEqual({ generation: 11n, keyHashes: ["a"], all: false });
    expect(readings).toBe(0);
    watcher.acknowledge("test", 11n);
    await enforced;
  });

  test("waits for an earlier generation known only from the log", async () => {
    const { watcher, next } = await joined();
    const enforced = feed.enforced({ generation: 12n, keyHashes: ["b"] });
    expect(feed.generation).toBe(10n);
    expect(readings).toBe(1);
    feed.caughtUp({ since: 10n, current: 11n, changes: [{ generation: 11n, keyHashes: ["a"] }] });
    expect(await next()).toEqual({ generation: 12n, keyHashes: ["a", "b"], all: false });
    watcher.acknowledge("test", 12n);
    await enforced;
  });

  test("is published in the order of generations when commits are reported out of order", async () => {
    const { watcher, next } = await joined();
    const writes = [13n, 12n, 11n].map((generation) => feed.enforced({ generation, keyHashes: [`k${generation}`] }));
    expect(await next()).toEqual({ generation: 13n, keyHashes: ["k11", "k12", "k13"], all: false });
    watcher.acknowledge("test", 13n);
    await Promise.all(writes);
  });

  test("without effect is acknowledged once the generation it found is enforced", async () => {
    const { watcher } = await joined();
    let settled = false;
    const enforced = feed.enforced({ generation: 11n, keyHashes: [] }).then(() => (settled = true));
    expect(readings).toBe(1);
    feed.caughtUp({ since: 10n, current: 11n, changes: [{ generation: 11n, keyHashes: ["a"] }] });
    await new Promise((resolve) => setImmediate(resolve));
    expect(settled).toBe(false);
    watcher.acknowledge("test", 11n);
    await enforced;
  });
});

describe("a poll of the log of policy changes", () => {
  test("that started before a local write neither repeats the write nor goes back a generation", async () => {
    const { watcher, next } = await joined();
    const enforced = feed.enforced({ generation: 11n, keyHashes: ["a"] });
    feed.caughtUp({ since: 10n, current: 10n, changes: [] });
    feed.caughtUp({ since: 10n, current: 11n, changes: [{ generation: 11n, keyHashes: ["a"] }] });
    expect(await next()).toEqual({ generation: 11n, keyHashes: ["a"], all: false });
    expect(feed.generation).toBe(11n);
    watcher.acknowledge("test", 11n);
    await enforced;
  });

  test("with a missing generation invalidates every key", async () => {
    const { next } = await joined();
    feed.caughtUp({ since: 10n, current: 13n, changes: [{ generation: 13n, keyHashes: ["c"] }] });
    expect(await next()).toEqual({ generation: 13n, keyHashes: [], all: true });
  });

  test("after a database restore to an earlier state invalidates every key", async () => {
    const { next } = await joined();
    feed.caughtUp({ since: 10n, current: 4n, changes: [] });
    expect(await next()).toEqual({ generation: 4n, keyHashes: [], all: true });
  });

  test("with a row for all keys invalidates every key", async () => {
    const { next } = await joined();
    feed.caughtUp({ since: 10n, current: 11n, changes: [{ generation: 11n, keyHashes: null }] });
    expect(await next()).toEqual({ generation: 11n, keyHashes: [], all: true });
  });

  test("without new changes is a heartbeat", async () => {
    const { next } = await joined();
    feed.caughtUp({ since: 10n, current: 10n, changes: [] });
    expect(await next()).toEqual({ generation: 10n, keyHashes: [], all: false });
  });
});

test("a policy watcher that never reads has at most 10,000 hashes buffered, then one invalidation of every key", async () => {
  const { next } = await joined();
  for (let i = 0; i < 21; i++) {
    const keyHashes = Array.from({ length: 500 }, (_, k) => `${i}-${k}`);
    feed.caughtUp({ since: 10n, current: BigInt(11 + i), changes: [{ generation: BigInt(11 + i), keyHashes }] });
  }
  expect(await next()).toEqual({ generation: 31n, keyHashes: [], all: true });
});

test("a closed policy feed accepts no watcher", async () => {
  feed.close();
  expect(await feed.join().messages().next()).toEqual({ done: true, value: undefined });
});
