/**
 * npm run fuzz -- [requests|patterns|disguises|healing] [--seconds N | --count N] [--seed S] [--at N]: random requests against the checks, the formats
 * and the document; random patterns over texts in pieces against the native engine and the whole text; disguised texts in pieces against what is in
 * them; objects that are spoiled, and healed (count only).
 */
import { parseArgs } from "node:util";
import { numberIn, readOrEnd } from "../support/campaign-options.ts";
import { bodyOf } from "./bodies.ts";
import { type Report, campaign, trial } from "./campaign.ts";
import { healingCampaign, healingLines } from "./healing/campaign.ts";
import { type Subject, patternCampaign, patternLine, patternTrial } from "./patterns/campaign.ts";
import { disguised } from "./patterns/disguises.ts";
import { caseOf } from "./patterns/generate.ts";
import { Random } from "./random.ts";

const subjects = ["requests", "patterns", "disguises", "healing"];
const usage = `usage: npm run fuzz -- [${subjects.join("|")}] [--seconds N | --count N] [--seed S] [--at N]`;

function read() {
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
  const [subject = "requests", ...others] = positionals;
  if (!subjects.includes(subject)) throw new Error(`nothing to fuzz is called ${subject}`);
  if (others.length > 0) throw new Error(`one thing at a time, and not ${others.join(" ")}, too`);
  const given = (name: keyof typeof values, least: number): number | undefined =>
    values[name] === undefined ? undefined : numberIn(name, { usual: 0, least, most: 1_000_000_000 }, values[name]);
  return {
    subject,
    count: given("count", 1),
    seconds: given("seconds", 1),
    seed: given("seed", 0),
    at: given("at", 0),
  };
}

const { subject, at, ...given } = readOrEnd(read, usage);
const seed = given.seed ?? Date.now() % 1_000_000_000;
const limits = {
  seed,
  count: given.count ?? (given.seconds === undefined ? 1_000_000 : Number.POSITIVE_INFINITY),
  seconds: given.seconds ?? Number.POSITIVE_INFINITY,
};

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
  const report = healingCampaign(seed, given.count ?? 4_000);
  for (const line of healingLines(report)) console.log(line);
  if (report.complaints.length > 0) process.exitCode = 1;
}

function show(made: string, what: string | undefined): void {
  console.log(made);
  console.log(what ?? "nothing is wrong");
}
