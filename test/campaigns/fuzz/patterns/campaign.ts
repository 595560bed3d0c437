/** Runs cases one after the other until their number or the time is reached. */
import { Random } from "../../../support/random.ts";
import { disguiseTrial } from "./disguise-trial.ts";
import { disguiseText } from "./disguises.ts";
import { generatePatternCase } from "./generate.ts";
import { type PatternTally, tryPatterns } from "./trial.ts";

/** What to test: random patterns over texts with near matches, or a few patterns over texts with disguised matches. */
export type Subject = "patterns" | "disguises";

export interface PatternOptions {
  readonly subject: Subject;
  readonly seed: number;
  /** Maximum number of runs; a run is a text under a set of patterns. */
  readonly count: number;
  readonly seconds: number;
  /** Called every ten seconds. */
  readonly progress?: (report: PatternReport) => void;
}

export interface PatternReport extends PatternTally {
  readonly subject: Subject;
  readonly seed: number;
  readonly seconds: number;
  /** Faults, each with the number of its case. */
  readonly complaints: readonly (readonly [number: number, what: string])[];
}

/** Maximum number of complaints; further ones would most likely be the same again. */
const maxComplaints = 20;
const progressMs = 10_000;

export function patternCampaign({ subject, seed, count, seconds, progress }: PatternOptions): PatternReport {
  const startedAt = performance.now();
  const tally: PatternTally = { runs: 0, matches: 0, pieces: 0, held: 0 };
  const complaints: [number, string][] = [];
  const elapsed = () => performance.now() - startedAt;
  const report = (): PatternReport => ({ ...tally, subject, seed, seconds: elapsed() / 1_000, complaints });
  let reportAt = progressMs;
  for (let number = 0; tally.runs < count && elapsed() < seconds * 1_000; number++) {
    const what = patternTrial(subject, seed, number, tally);
    if (what !== undefined) complaints.push([number, what]);
    if (complaints.length === maxComplaints) break;
    if (elapsed() < reportAt) continue;
    reportAt += progressMs;
    progress?.(report());
  }
  return report();
}

/** @returns the fault that a case shows; undefined if there is none */
export const patternTrial = (
  subject: Subject,
  seed: number,
  number: number,
  tally: PatternTally = { runs: 0, matches: 0, pieces: 0, held: 0 },
): string | undefined => {
  const random = new Random(seed, number);
  return subject === "patterns"
    ? tryPatterns(generatePatternCase(random), tally)
    : disguiseTrial(disguiseText(random), tally);
};

export const patternLine = ({
  subject,
  seed,
  runs,
  matches,
  pieces,
  held,
  complaints,
  seconds,
}: PatternReport): string =>
  `${subject}: seed ${seed}, ${runs} runs, ${matches} matches, ${(held / pieces).toFixed(2)} characters held back on average, ` +
  `${complaints.length} complaints, ${seconds.toFixed(0)} s`;
