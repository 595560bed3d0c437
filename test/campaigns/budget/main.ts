/** npm run budgets -- [--requests N] [--seed S]: sends random requests against budgets, and compares the cost with the provider's own journal. */
import { readNumbersOrExit } from "../../support/runner/campaign-options.ts";
import { runBudgetCampaign } from "./campaign.ts";
import { reportLines } from "./report.ts";

const given = readNumbersOrExit("budgets", {
  requests: { default: 10_000, min: 1, max: 1_000_000 },
  seed: { default: Date.now() % 1_000_000_000, min: 0, max: 1_000_000_000 },
});

const report = await runBudgetCampaign({
  requests: given.requests,
  seed: given.seed,
  embeddedPostgres: true,
  progress: (line) => console.log(line),
});
for (const line of reportLines(given.seed, report)) console.log(line);
if (report.complaints.length > 0) process.exitCode = 1;
