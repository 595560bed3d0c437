/** Keys that a process needs at the same time are resolved together. */
import { beforeEach, expect, test } from "@jest/globals";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type ReadKeys, KeyBatches } from "@sluice/proto/lib/policy/key-batches.js";

interface Call {
  readonly keys: readonly string[];
  readonly answer: (places?: number) => void;
  readonly fail: (error: Error) => void;
}

let calls: Call[];
let batches: KeyBatches<string>;
const ask: ReadKeys<string> = (keys) =>
  new Promise((resolve, fail) => {
    const answer = (places = keys.length) =>
      resolve(keys.slice(0, places).map((key) => ({ value: `policy of ${key}`, generation: 1n })));
    calls.push({ keys, answer, fail });
  });
const askAll = (count: number) =>
  Promise.allSettled(Array.from({ length: count }, (_, n) => batches.request(`key-${n}`, undefined)));
const settled = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  calls = [];
  batches = new KeyBatches(ask);
});

/** Answers all calls, and their follow-up calls. @returns the number of keys of each */
async function answerAll(places?: number): Promise<number[]> {
  const sizes: number[] = [];
  for (; calls.length > 0; await settled()) {
    for (const { keys, answer } of calls.splice(0)) {
      sizes.push(keys.length);
      answer(places);
    }
  }
  return sizes;
}

test("of five hundred keys at once, four are read singly and the others in six calls, each with its policy", async () => {
  const asked = askAll(500);
  expect(await answerAll()).toEqual([1, 1, 1, 1, 101, 101, 101, 101, 92]);
  const policies = (await asked).map((each) => each.status === "fulfilled" && each.value.value);
  expect(policies).toEqual(Array.from({ length: 500 }, (_, n) => `policy of key-${n}`));
});

test("keys missing in an answer, as in every answer of an earlier admin-svc, are read singly", async () => {
  const asked = askAll(6);
  expect(await answerAll(1)).toEqual([1, 1, 1, 1, 2, 1]);
  expect((await asked).map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => "fulfilled"));
});

test("a policy that cannot be read does not fail the other keys of its call", async () => {
  const asked = askAll(6);
  for (const { answer } of calls.splice(0)) answer();
  await settled();
  calls.shift()?.fail(new Error("one of the two is broken"));
  await settled();
  const [broken, whole] = calls.splice(0);
  broken?.fail(new Error("broken"));
  whole?.answer();
  expect((await asked).map(({ status }) => status)).toEqual([...Array(4).fill("fulfilled"), "rejected", "fulfilled"]);
});

test("while admin-svc is unreachable the keys that wait for a call fail with it", async () => {
  const asked = askAll(200);
  for (const { fail } of calls.splice(0)) fail(new Fault(FaultReason.UNAVAILABLE));
  expect((await asked).every(({ status }) => status === "rejected")).toBe(true);
  expect(calls).toEqual([]);
});
