import { expect, test } from "@jest/globals";
import { ConcurrencyLimit } from "@sluice/inference-svc/models/ledger/turnstile.js";

/** Work that ends when the test calls `end`. */
function held() {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end, work: () => ended };
}

test("a limited number runs at a time, the others follow in their order", async () => {
  const turnstile = new ConcurrencyLimit(2, 60_000);
  const begun: number[] = [];
  const works = Array.from({ length: 5 }, held);
  const passed = works.map(({ work }, n) =>
    turnstile.run(() => {
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

test("failed work gives its place back", async () => {
  const turnstile = new ConcurrencyLimit(1, 60_000);
  await expect(turnstile.run(() => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(await turnstile.run(() => Promise.resolve(1))).toBe(1);
});

test("a caller waiting too long is refused, and its work never begins", async () => {
  const turnstile = new ConcurrencyLimit(1, 10);
  const first = held();
  const passing = turnstile.run(first.work);
  let begun = false;
  const late = turnstile.run(async () => {
    begun = true;
  });
  await expect(late).rejects.toThrow("no place within 10 ms");
  first.end();
  await passing;
  await turnstile.run(() => Promise.resolve());
  expect(begun).toBe(false);
});
