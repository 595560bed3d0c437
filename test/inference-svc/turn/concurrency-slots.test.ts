/** Slots for concurrent calls. */
import { expect, test } from "@jest/globals";
import { ConcurrencySlots } from "@sluice/inference-svc/turn/concurrency-slots.js";

test("a limited number of callers runs at a time, and others follow in their order", async () => {
  const slots = new ConcurrencySlots(2);
  const begun: number[] = [];
  const taken = Array.from({ length: 5 }, async (_, n) => {
    const release = await slots.take(60_000);
    begun.push(n);
    return release;
  });
  await Promise.all(taken.slice(0, 2));
  expect([begun, slots.waiting]).toEqual([[0, 1], 3]);
  for (const slot of taken) (await slot)?.();
  expect([begun, slots.waiting]).toEqual([[0, 1, 2, 3, 4], 0]);
});

test("a caller that waits too long gets no slot, and takes none from the next caller", async () => {
  const slots = new ConcurrencySlots(1);
  const release = await slots.take(10);
  expect(await slots.take(10)).toBeUndefined();
  release?.();
  expect(await slots.take(10)).toBeDefined();
});
