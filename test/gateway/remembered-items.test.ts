/** Items of earlier answers, available for references in later requests of the same key. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { responsesDoor } from "@sluice/gateway/doors/responses/door.js";
import { MemoryItems } from "@sluice/gateway/doors/responses/remembered/memory-items.js";
import { RedisItems } from "@sluice/gateway/doors/responses/remembered/redis-items.js";
import { RememberedItems } from "@sluice/gateway/doors/responses/remembered/remembered-items.js";
import { ItemEndSchema, TurnEndSchema, TurnStatus } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import { fuzzDoorContext } from "../support/random-requests/format.ts";
import { describeWithRedis, redisUrl } from "../support/redis.ts";

const token = "t".repeat(64);
const message = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Hi" }] };
const reference = { type: "item_reference", id: "msg_1" };
const prompt = { role: "user", content: "And then?" };

let now = 0;
const memoryOf = (time: string | undefined, store = new MemoryItems(() => now), secret: string = token) =>
  new RememberedItems({
    settings: () => (time === undefined ? {} : { remember_items: time }),
    token: secret,
    openStore: () => store,
  });

/** Answers a request with a message, through the code of /responses. @returns whether there was a receiver for its items */
function answer(memory: RememberedItems, keyHash: string, request: object = {}, item: object = message): boolean {
  const body = Buffer.from(JSON.stringify({ model: "m", input: "Hello", ...request }));
  const remember = memory.taker(keyHash);
  const whole = responsesDoor.read(body, scanObject(body, "body"), { ...fuzzDoorContext, remember }).whole();
  const itemJson = Buffer.from(JSON.stringify(item));
  whole.apply({ case: "itemEnd", value: create(ItemEndSchema, { index: 0, itemJson }) });
  whole.apply({ case: "end", value: create(TurnEndSchema, { status: TurnStatus.COMPLETED }) });
  expect(whole.json()).toContain('"status":"completed"');
  return remember !== undefined;
}

/** @returns the input of a later request as the turn gets it */
async function restored(memory: RememberedItems, keyHash: string, input: unknown): Promise<unknown> {
  const body = Buffer.from(JSON.stringify({ model: "m", input, stream: true }));
  const read = (await memory.restore(keyHash, body, scanObject(body, "body"))) ?? body;
  const { model, input: found, stream } = JSON.parse(read.toString()) as Record<string, unknown>;
  expect([model, stream]).toEqual(["m", true]);
  return found;
}

describe("a reference to an item of an earlier answer", () => {
  test("is replaced by the item in the same place, once", async () => {
    const memory = memoryOf("1h");
    expect(answer(memory, "key")).toBe(true);
    expect(await restored(memory, "key", [prompt, reference, prompt, reference])).toEqual([
      prompt,
      message,
      prompt,
      reference,
    ]);
  });

  test("keeps the bytes before and after it unchanged", async () => {
    const memory = memoryOf("1h");
    answer(memory, "key");
    const body = Buffer.from(
      '{"seed":1.0,"input":[ {"a":1e2} ,{"type":"item_reference","id":"msg_1"}, 3.10 ],"x":"\\u00e9"}',
    );
    const read = await memory.restore("key", body, scanObject(body, "body"));
    expect(read?.toString()).toBe(`{"seed":1.0,"input":[ {"a":1e2} ,${JSON.stringify(message)}, 3.10 ],"x":"\\u00e9"}`);
  });

  test.each<[string, () => Promise<unknown>]>([
    ["of another key", () => restoreAfter({ asker: "other" })],
    ["of a request with store: false", () => restoreAfter({ request: { store: false } })],
    ["of a request that forbids providers to keep data", () => restoreAfter({ request: { provider: { zdr: true } } })],
    ["whose time is over", () => restoreAfter({ laterMs: 3_600_001 })],
    ["where nothing is remembered", () => restoreAfter({ time: undefined })],
    ["sealed with another service token", () => restoreAfter({ secret: "u".repeat(64) })],
  ])("that is %s stays, and the turn refuses it", async (_, restore) => {
    expect(await restore()).toEqual([reference, prompt]);
  });

  test("stays when the item stands before it in the input", async () => {
    const memory = memoryOf("1h");
    answer(memory, "key", {}, { ...message, content: [] });
    expect(await restored(memory, "key", [message, reference])).toEqual([message, reference]);
  });

  test("is not searched in a text", async () => {
    const memory = memoryOf("1h");
    answer(memory, "key");
    expect(await restored(memory, "key", JSON.stringify([reference]))).toBe(JSON.stringify([reference]));
  });
});

interface Case {
  readonly asker?: string;
  readonly request?: object;
  readonly laterMs?: number;
  readonly time?: string | undefined;
  readonly secret?: string;
}

async function restoreAfter({ asker = "key", request = {}, laterMs = 0, secret = token, ...more }: Case) {
  const time = "time" in more ? more.time : "1h";
  const store = new MemoryItems(() => now);
  answer(memoryOf(time, store), "key", request);
  now += laterMs;
  return restored(memoryOf(time, store, secret), asker, [reference, prompt]);
}

describe("the memory of a gateway for items", () => {
  const sealed = Buffer.alloc(1024 * 1024);
  const megabytes = 2 ** 20;

  test("holds 8 MiB of one key, drops its oldest first, and keeps those of other keys", async () => {
    const store = new MemoryItems(() => now);
    store.put("other", "other:1", sealed, 60_000);
    for (let n = 0; n < 20; n++) store.put("key", `key:${n}`, sealed, 60_000);
    const found = await store.get(["other:1", "key:0", "key:12", "key:13", "key:19"]);
    expect(found.map((item) => item !== undefined)).toEqual([true, false, false, true, true]);
    expect(store.bytes).toBeLessThanOrEqual(9 * megabytes);
  });

  test("holds 64 MiB of all keys, and no expired item", async () => {
    const store = new MemoryItems(() => now);
    for (let n = 0; n < 100; n++) store.put(`key ${n}`, `key:${n}`, sealed, 60_000);
    expect(store.bytes).toBeLessThanOrEqual(64 * megabytes);
    expect(await store.get(["key:0", "key:99"])).toEqual([undefined, sealed]);
    now += 60_001;
    store.put("key", "key:new", sealed, 60_000);
    expect(store.bytes).toBeLessThanOrEqual(2 * megabytes);
  });
});

describeWithRedis("two gateways with Redis", () => {
  const log = { warn: () => {} };
  let stores: RedisItems[];
  beforeAll(() => {
    stores = [new RedisItems(redisUrl, log), new RedisItems(redisUrl, log)];
  });
  afterAll(() => stores.forEach((store) => store.stop()));

  test("know each other's answers", async () => {
    const [one, other] = stores.map(
      (store) => new RememberedItems({ settings: () => ({ remember_items: "1m" }), token, openStore: () => store }),
    ) as [RememberedItems, RememberedItems];
    const keyHash = `key ${process.pid}`;
    for (let tries = 0; tries < 100; tries++) {
      answer(one, keyHash);
      const [found] = (await restored(other, keyHash, [reference, prompt])) as [{ type: string }];
      if (found.type === "message") return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error("the other gateway does not know the item");
  });
});
