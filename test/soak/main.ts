/** npm run soak -- [--minutes N] [--streams-per-second N] [--faults PERCENT] [--seed S]: whether a house holds more and more. */
import { parseArgs } from "node:util";
import { countsIn, figuresIn, linesOf } from "./print.ts";
import { soak } from "./soak.ts";

const { values } = parseArgs({
  options: {
    /** Whole ones, after the warm-up. */
    minutes: { type: "string", default: "120" },
    "streams-per-second": { type: "string", default: "100" },
    faults: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
  },
});

function whole(name: keyof typeof values, least: number, most: number): number {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  console.error(`--${name} is to be a whole number from ${least} to ${most}`);
  process.exit(2);
}

if (process.platform !== "linux") {
  console.error("the soak reads /proc, which only Linux has");
  process.exit(2);
}
const minuteMs = 60_000;
const seed = whole("seed", 0, 1_000_000_000);
const report = await soak({
  seed,
  warmUpMs: minuteMs,
  forMs: whole("minutes", 1, 100_000) * minuteMs,
  settleMs: 15_000,
  everyMs: minuteMs,
  streamsPerSecond: whole("streams-per-second", 1, 1_000),
  faults: whole("faults", 0, 100) / 100,
  progress: (minutes, requests, outcomes, readings) =>
    console.log(`${minutes.toFixed(1)} min: ${requests} streams (${countsIn(outcomes)}); ${figuresIn(readings)}`),
});
for (const line of linesOf(report)) console.log(line);
const complaints = [...report.complaints, ...report.heapComplaints];
for (const complaint of complaints) console.log(complaint);
console.log(`seed ${seed}: ${report.requests} streams, ${complaints.length} complaints`);
if (complaints.length > 0) process.exitCode = 1;
