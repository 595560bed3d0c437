/** A few hundred random requests against budgets. More of them: npm run budgets. */
import { expect, test } from "@jest/globals";
import { runBudgetCampaign } from "./campaign.ts";
import { reportLines } from "./report.ts";

test("the provider's journal shows spending of keys within their budgets and the stated bound", async () => {
  const seed = 20_261_123;
  const report = await runBudgetCampaign({ seed, requests: 320 });
  for (const line of reportLines(seed, report)) process.stdout.write(`budgets: ${line}\n`);
  expect(report.complaints).toEqual([]);
  // The campaign proves something only if some requests were refused by budgets, and some clients left.
  expect(report.statuses).toMatchObject({ 0: expect.any(Number), 200: expect.any(Number), 402: expect.any(Number) });
}, 600_000);
