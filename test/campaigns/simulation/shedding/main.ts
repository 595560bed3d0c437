/** npm run overload -- [--seed S] ...: simulates an overloaded fleet in virtual time. */
import { readNumbersOrExit } from "../../../support/runner/campaign-options.ts";
import { VirtualTime } from "../virtual-time.ts";
import { complaintsOfShedding } from "./complaints.ts";
import { sheddingLines } from "./report.ts";
import { type SheddingSize, simulateShedding } from "./scenario.ts";

const given = readNumbersOrExit("overload", {
  seed: { default: Date.now() % 1_000_000_000, min: 0, max: 1_000_000_000 },
  gateways: { default: 20, min: 1, max: 200 },
  processes: { default: 40, min: 3, max: 250 },
  keys: { default: 51, min: 2, max: 100_000 },
  "turn-us": { default: 4_000, min: 100, max: 1_000_000 },
  "phase-seconds": { default: 60, min: 6, max: 3_600 },
});

const size: SheddingSize = {
  gateways: given.gateways,
  processes: given.processes,
  keys: given.keys,
  turnUs: given["turn-us"],
  phaseS: given["phase-seconds"],
};
const time = new VirtualTime();
time.install(given.seed);
const figures = await simulateShedding(time, given.seed, size);
for (const line of sheddingLines(given.seed, size, figures)) console.log(line);
const complaints = complaintsOfShedding(figures, size);
for (const complaint of complaints) console.log(`complaint: ${complaint}`);
if (complaints.length > 0) process.exitCode = 1;
