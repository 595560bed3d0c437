import { expect, test } from "@jest/globals";
import { Turnstile } from "@sluice/inference-svc/ledger/turnstile.js";

/** Work that ends when it is told to. */
function held() {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end, work: () => ended };
}

test("so many at a time, the others in their order", async () => {
  const turnstile = new Turnstile(2, 60_000);
  const begun: number[] = [];
  const works = Array.from({ length: 5 }, held);
  const passed = works.map(({ work }, n) =>
    turnstile.pass(() => {
      begun.push(n);
      return work();
    }),
  );
  expect(begun).toEqual([0, 1]);
  for (const [n, { end }] of works.entries()) {
    end();
    await passed[n];
  }
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

test("work that fails gives its place back", async () => {
  const turnstile = new Turnstile(1, 60_000);
  await expect(turnstile.pass(() => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(await turnstile.pass(() => Promise.resolve(1))).toBe(1);
});

test("whoever has waited too long is turned away, and what it wanted is never begun", async () => {
  const turnstile = new Turnstile(1, 10);
  const first = held();
  const passing = turnstile.pass(first.work);
  let begun = false;
  const late = turnstile.pass(async () => {
    begun = true;
  });
  await expect(late).rejects.toThrow("no place within 10 ms");
  first.end();
  await passing;
  await turnstile.pass(() => Promise.resolve());
  expect(begun).toBe(false);
});
