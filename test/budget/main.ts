/** npm run budgets -- [--requests N] [--seed S]: random requests against budgets, held against the provider's own journal. */
import { numbersGiven } from "../support/campaign-options.ts";
import { campaign } from "./campaign.ts";
import { reportLines } from "./report.ts";

const given = numbersGiven("budgets", {
  requests: { usual: 10_000, least: 1, most: 1_000_000 },
  seed: { usual: Date.now() % 1_000_000_000, least: 0, most: 1_000_000_000 },
});

const report = await campaign({
  requests: given.requests,
  seed: given.seed,
  embeddedPostgres: true,
  progress: (line) => console.log(line),
});
for (const line of reportLines(given.seed, report)) console.log(line);
if (report.complaints.length > 0) process.exitCode = 1;
