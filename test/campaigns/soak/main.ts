/** npm run soak -- [--minutes N] [--streams-per-second N] [--faults PERCENT] [--seed S]: whether an installation leaks resources. */
import { readNumbersOrExit } from "../../support/runner/campaign-options.ts";
import { countsIn, figuresIn, linesOf } from "./print.ts";
import { soak } from "./soak.ts";

const given = readNumbersOrExit("soak", {
  /** Minutes after the warm-up. */
  minutes: { default: 120, min: 1, max: 100_000 },
  "streams-per-second": { default: 100, min: 1, max: 1_000 },
  /** Percentage of streams whose provider fails. */
  faults: { default: 10, min: 0, max: 100 },
  seed: { default: Date.now() % 1_000_000_000, min: 0, max: 1_000_000_000 },
});

if (process.platform !== "linux") {
  console.error("the soak reads /proc, which only Linux has");
  process.exit(2);
}
const minuteMs = 60_000;
const report = await soak({
  seed: given.seed,
  warmUpMs: minuteMs,
  forMs: given.minutes * minuteMs,
  settleMs: 15_000,
  everyMs: minuteMs,
  streamsPerSecond: given["streams-per-second"],
  faults: given.faults / 100,
  progress: (minutes, requests, outcomes, readings) =>
    console.log(`${minutes.toFixed(1)} min: ${requests} streams (${countsIn(outcomes)}); ${figuresIn(readings)}`),
});
for (const line of linesOf(report)) console.log(line);
const complaints = [...report.complaints, ...report.heapComplaints];
for (const complaint of complaints) console.log(complaint);
console.log(`seed ${given.seed}: ${report.requests} streams, ${complaints.length} complaints`);
if (complaints.length > 0) process.exitCode = 1;
