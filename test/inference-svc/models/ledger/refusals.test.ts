/** Refusals kept for waiting calls: a bounded number, whatever tags applications send. */
import { expect, test } from "@jest/globals";
import { Refusals } from "@sluice/inference-svc/models/ledger/refusals.js";

test("refusals of 1,000 payers are remembered, and the payer refused longest ago makes room for a new one", () => {
  const refusals = new Refusals<string>();
  const refuse = (payer: string) => refusals.set(payer, { requestedAt: 1, size: 1n, answer: payer });
  for (let n = 1; n <= 1_000; n++) refuse(`key project=${n}`);
  refuse("key project=1");
  refuse("key project=new");
  const kept = ["1", "2", "3", "1000", "new"].map((value) => refusals.get(`key project=${value}`)?.answer);
  expect(kept).toEqual(["key project=1", undefined, "key project=3", "key project=1000", "key project=new"]);
  refusals.clear();
  expect(refusals.get("key project=new")).toBeUndefined();
});
