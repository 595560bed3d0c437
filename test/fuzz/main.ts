/**
 * npm run fuzz -- [requests|patterns|disguises|healing] [--seconds N | --count N] [--seed S] [--at N]: random requests against the checks, the formats
 * and the document; random patterns over texts in pieces against the native engine and the whole text; disguised texts in pieces against what is in
 * them; objects that are spoiled, and healed (count only).
 */
import { parseArgs } from "node:util";
import { bodyOf } from "./bodies.ts";
import { type Report, campaign, trial } from "./campaign.ts";
import { healingCampaign, healingLines } from "./healing/campaign.ts";
import { type Subject, patternCampaign, patternLine, patternTrial } from "./patterns/campaign.ts";
import { disguised } from "./patterns/disguises.ts";
import { caseOf } from "./patterns/generate.ts";
import { Random } from "./random.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** A million bodies or runs when neither is given. */
    count: { type: "string" },
    seconds: { type: "string" },
    seed: { type: "string" },
    /** Only this body or case, which is printed. */
    at: { type: "string" },
  },
});

const numberOf = (text: string | undefined, otherwise: number): number =>
  text === undefined ? otherwise : Number(text);

const seed = numberOf(values.seed, Date.now() % 1_000_000_000);
const timed = values.seconds !== undefined;
const limits = {
  seed,
  count: numberOf(values.count, timed ? Number.POSITIVE_INFINITY : 1_000_000),
  seconds: numberOf(values.seconds, Number.POSITIVE_INFINITY),
};
const at = values.at === undefined ? undefined : Number(values.at);

const [subject] = positionals;
if (subject === "patterns" || subject === "disguises") fuzzPatterns(subject);
else if (subject === "healing") fuzzHealing();
else await fuzzRequests();

async function fuzzRequests(): Promise<void> {
  const line = ({ bodies, accepted, complaints, seconds }: Report): string =>
    `seed ${seed}: ${bodies} bodies, ${accepted} of them accepted, ${complaints.length} complaints, ${seconds.toFixed(0)} s`;
  if (at !== undefined) return show(bodyOf(seed, at).toString(), await trial(seed, at));
  const report = await campaign({ ...limits, progress: (sofar) => console.log(line(sofar)) });
  for (const { number, what, body } of report.complaints) {
    console.log(`\n--seed ${seed} --at ${number}\n${what}\n${body.slice(0, 2_000)}`);
  }
  console.log(line(report));
  if (report.complaints.length > 0) process.exitCode = 1;
}

function fuzzPatterns(subject: Subject): void {
  if (at !== undefined)
    return show(
      JSON.stringify((subject === "patterns" ? caseOf : disguised)(new Random(seed, at))),
      patternTrial(subject, seed, at),
    );
  const report = patternCampaign({ ...limits, subject, progress: (sofar) => console.log(patternLine(sofar)) });
  for (const [number, what] of report.complaints) console.log(`\n--seed ${seed} --at ${number}\n${what}`);
  console.log(patternLine(report));
  if (report.complaints.length > 0) process.exitCode = 1;
}

function fuzzHealing(): void {
  const report = healingCampaign(seed, numberOf(values.count, 4_000));
  for (const line of healingLines(report)) console.log(line);
  if (report.complaints.length > 0) process.exitCode = 1;
}

function show(made: string, what: string | undefined): void {
  console.log(made);
  console.log(what ?? "nothing is wrong");
}
