import { describe, expect, test } from "@jest/globals";
import { Outbox, maxSessionMessageBytes } from "@sluice/proto/lib/lane/outbox.js";

const tick = () => new Promise((resolve) => setImmediate(resolve));

function collect(room: () => boolean = () => true) {
  const messages: string[][] = [];
  const outbox = new Outbox<string>((frames) => {
    messages.push(frames);
    return room();
  });
  return { messages, outbox };
}

describe("the outbox of a lane", () => {
  test("sends one message for all frames of one turn of the event loop", async () => {
    const { messages, outbox } = collect();
    for (const frame of ["a", "b", "c"]) outbox.push(frame, 10);
    expect(messages).toEqual([]);
    await tick();
    outbox.push("d", 10);
    await tick();
    expect(messages).toEqual([["a", "b", "c"], ["d"]]);
  });

  test("cuts a message at its limit, and sends one larger frame by itself", async () => {
    const { messages, outbox } = collect();
    outbox.push("a", 600 * 1024);
    outbox.push("b", 600 * 1024);
    outbox.push("c", 3 * maxSessionMessageBytes);
    outbox.push("d", 1);
    await tick();
    expect(messages).toEqual([["a"], ["b"], ["c"], ["d"]]);
  });

  test("holds all frames back while the stream is full, and sends them as one message afterwards", async () => {
    let room = false;
    const { messages, outbox } = collect(() => room);
    outbox.push("a", 1);
    await tick();
    outbox.push("b", 1);
    await tick();
    outbox.push("c", 1);
    await tick();
    expect(messages).toEqual([["a"]]);
    room = true;
    outbox.drained();
    expect(messages).toEqual([["a"], ["b", "c"]]);
  });

  test("takes keys in turn after a full stream, and keeps the order of each key", async () => {
    let room = 0;
    const { messages, outbox } = collect(() => room-- > 0);
    outbox.push("first", 1);
    await tick();
    const many = Array.from({ length: 1_000 }, (_, number) => `a${number}`);
    for (const frame of many) outbox.push(frame, 400 * 1024, "a");
    outbox.push("b0", 1, "b");
    outbox.push("b1", 1, "b");
    expect([messages, outbox.grow(1)]).toEqual([[["first"]], false]);
    room = 1;
    outbox.drained();
    expect(messages.slice(1)).toEqual([
      ["a0", "b0", "a1", "b1", "a2"],
      ["a3", "a4", "a5"],
    ]);
    room = 1_000;
    outbox.drained();
    expect(messages.flat().filter((frame) => frame.startsWith("a"))).toEqual(many);
  });

  test("lets a frame grow until it is sent, and not beyond the limit", async () => {
    const { outbox } = collect();
    outbox.push("a", 10);
    const { generation } = outbox;
    expect(outbox.grow(100)).toBe(true);
    expect(outbox.grow(maxSessionMessageBytes)).toBe(false);
    await tick();
    expect(outbox.generation).not.toBe(generation);
  });
});
