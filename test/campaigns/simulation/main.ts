/** npm run simulate -- [--seed S] ...: simulates a fleet of replicas in virtual time. */
import { readNumbersOrExit } from "../../support/runner/campaign-options.ts";
import { runSimulation } from "./campaign.ts";
import { simulationLines } from "./report.ts";
import type { Size } from "./size.ts";

const given = readNumbersOrExit("simulate", {
  seed: { default: Date.now() % 1_000_000_000, min: 0, max: 1_000_000_000 },
  replicas: { default: 200, min: 2, max: 1_000 },
  keys: { default: 100_000, min: 100, max: 1_000_000 },
  "requests-per-second": { default: 2_000, min: 10, max: 200_000 },
  "after-seconds": { default: 120, min: 90, max: 3_600 },
  "read-requests-per-second": { default: 100_000, min: 10, max: 1_000_000 },
  "fill-seconds": { default: 540, min: 0, max: 36_000 },
});

const size: Size = {
  replicas: given.replicas,
  keys: given.keys,
  requestsPerSecond: given["requests-per-second"],
  afterS: given["after-seconds"],
  readRequestsPerSecond: given["read-requests-per-second"],
  fillS: given["fill-seconds"],
};
const { figures, complaints } = await runSimulation(given.seed, size);
for (const line of simulationLines(given.seed, size, figures)) console.log(line);
for (const complaint of complaints) console.log(`complaint: ${complaint}`);
if (complaints.length > 0) process.exitCode = 1;
