/** npm run soak -- [--minutes N] [--streams-per-second N] [--faults PERCENT] [--seed S]: whether a house holds more and more. */
import { numbersGiven } from "../support/campaign-options.ts";
import { countsIn, figuresIn, linesOf } from "./print.ts";
import { soak } from "./soak.ts";

const given = numbersGiven("soak", {
  /** After the warm-up. */
  minutes: { usual: 120, least: 1, most: 100_000 },
  "streams-per-second": { usual: 100, least: 1, most: 1_000 },
  /** Per cent. */
  faults: { usual: 10, least: 0, most: 100 },
  seed: { usual: Date.now() % 1_000_000_000, least: 0, most: 1_000_000_000 },
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
