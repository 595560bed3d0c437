/**
 * npm run fuzz -- [format or other subject] [--seconds N | --count N] [--seed S] [--at N]. Subjects: random requests of a format against the checks,
 * the providers' formats and the document; random patterns over texts in pieces against the native engine and the whole text; disguised texts in
 * pieces against their secrets; objects damaged and healed (count only); the applicable layers of a request against all layers of the stack (count
 * only); responses of servers, also broken ones, against undici; requests of all formats over sockets against the document (count only).
 */
import { parseArgs } from "node:util";
import { parseNumber, readOrExit } from "../../support/runner/campaign-options.ts";
import { generateBody } from "../../support/random-requests/bodies.ts";
import type { FuzzedFormat } from "../../support/random-requests/format.ts";
import { type FormatName, formats } from "../../support/random-requests/formats.ts";
import { type FuzzReport, runRequestCampaign, judgeBody } from "./requests/campaign.ts";
import { type HttpFuzzReport, httpCampaign, httpLines } from "./http/campaign.ts";
import { healingCampaign, healingLines } from "./healing/campaign.ts";
import { type Subject, patternCampaign, patternLine, patternTrial } from "./patterns/campaign.ts";
import { disguiseText } from "./patterns/disguises.ts";
import { generatePatternCase } from "./patterns/generate.ts";
import { Random } from "../../support/random.ts";
import { socketCampaign } from "./sockets/campaign.ts";
import { stackCampaign } from "./stack/campaign.ts";

const subjects = [...Object.keys(formats), "patterns", "disguises", "healing", "stack", "http", "sockets"];
const usage = `usage: npm run fuzz -- [${subjects.join("|")}] [--seconds N | --count N] [--seed S] [--at N]`;

function read() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      /** Number of bodies or runs; a million if neither this nor the seconds are given. */
      count: { type: "string" },
      seconds: { type: "string" },
      seed: { type: "string" },
      /** Number of the only body or case to run, as an earlier run has printed it. */
      at: { type: "string" },
    },
  });
  const [subject = "responses", ...others] = positionals;
  if (!subjects.includes(subject)) throw new Error(`unknown subject: ${subject}`);
  if (others.length > 0) throw new Error(`only one subject at a time; left over: ${others.join(" ")}`);
  const given = (name: keyof typeof values, min: number): number | undefined =>
    values[name] === undefined ? undefined : parseNumber(name, { default: 0, min, max: 1_000_000_000 }, values[name]);
  return {
    subject,
    count: given("count", 1),
    seconds: given("seconds", 1),
    seed: given("seed", 0),
    at: given("at", 0),
  };
}

const { subject, at, ...given } = readOrExit(read, usage);
const seed = given.seed ?? Date.now() % 1_000_000_000;
const limits = {
  seed,
  count: given.count ?? (given.seconds === undefined ? 1_000_000 : Number.POSITIVE_INFINITY),
  seconds: given.seconds ?? Number.POSITIVE_INFINITY,
};

if (subject === "patterns" || subject === "disguises") fuzzPatterns(subject);
else if (subject === "healing") fuzzHealing();
else if (subject === "stack") await fuzzStack();
else if (subject === "http") await fuzzHttp();
else if (subject === "sockets") await fuzzSockets();
else await fuzzRequests(formats[subject as FormatName]);

async function fuzzRequests(format: FuzzedFormat): Promise<void> {
  const line = ({ bodies, accepted, complaints, seconds }: FuzzReport): string =>
    `seed ${seed}: ${bodies} bodies, ${accepted} of them accepted, ${complaints.length} complaints, ${seconds.toFixed(0)} s`;
  if (at !== undefined) return show(generateBody(seed, at, format).toString(), await judgeBody(format, seed, at));
  const report = await runRequestCampaign({ format, ...limits, progress: (sofar) => console.log(line(sofar)) });
  for (const { number, what, body } of report.complaints) {
    console.log(`\n--seed ${seed} --at ${number}\n${what}\n${body.slice(0, 2_000)}`);
  }
  console.log(line(report));
  if (report.complaints.length > 0) process.exitCode = 1;
}

function fuzzPatterns(subject: Subject): void {
  if (at !== undefined)
    return show(
      JSON.stringify((subject === "patterns" ? generatePatternCase : disguiseText)(new Random(seed, at))),
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

async function fuzzStack(): Promise<void> {
  const one = at === undefined ? {} : { from: at, count: 1 };
  const progress = (requests: number) => console.log(`seed ${seed}: ${requests} requests`);
  const report = await stackCampaign({ seed, count: given.count ?? 100_000, progress, ...one });
  for (const complaint of report.complaints) console.log(`\n${complaint}`);
  const { requests, answered, masks, complaints } = report;
  console.log(
    `seed ${seed}: ${requests} requests in ${masks} combinations of features, ${answered} answered, ${complaints.length} complaints`,
  );
  if (complaints.length > 0) process.exitCode = 1;
}

async function fuzzHttp(): Promise<void> {
  const one = at === undefined ? {} : { at };
  const count = given.count ?? (given.seconds === undefined ? 100_000 : Number.POSITIVE_INFINITY);
  const progress = (sofar: HttpFuzzReport) => console.log(`seed ${seed}: ${sofar.exchanges} exchanges`);
  const report = await httpCampaign({ seed, count, seconds: limits.seconds, progress, ...one });
  for (const line of httpLines(seed, report)) console.log(line);
  if (report.complaints.length > 0) process.exitCode = 1;
}

async function fuzzSockets(): Promise<void> {
  const one = at === undefined ? {} : { from: at, count: 1 };
  const progress = (requests: number) => console.log(`seed ${seed}: ${requests} requests`);
  const report = await socketCampaign({
    seed,
    count: given.count ?? 20_000,
    embeddedPostgres: true,
    progress,
    ...one,
  });
  for (const complaint of report.complaints) console.log(`\n${complaint}`);
  const answers = [...report.statuses.keys()].toSorted();
  for (const answer of answers) console.log(`${answer}: ${report.statuses.get(answer)}`);
  console.log(`seed ${seed}: ${report.requests} requests, ${report.complaints.length} complaints`);
  if (report.complaints.length > 0) process.exitCode = 1;
}

function show(made: string, what: string | undefined): void {
  console.log(made);
  console.log(what ?? "no complaint");
}
