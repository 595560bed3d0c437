/** Runs cases one after the other until the count or the time is up. */
import { Random } from "../random.ts";
import { caseOf, textsPerCase } from "./generate.ts";
import { type Tally, trial } from "./trial.ts";

export interface PatternOptions {
  readonly seed: number;
  /** Runs at most: a text under a set of patterns each. */
  readonly count: number;
  readonly seconds: number;
  /** Called every ten seconds. */
  readonly progress?: (report: PatternReport) => void;
}

export interface PatternReport extends Tally {
  readonly seed: number;
  readonly seconds: number;
  /** What is wrong, by the number of the case. */
  readonly complaints: readonly (readonly [number: number, what: string])[];
}

/** Further ones would most likely be the same again. */
const maxComplaints = 20;
const progressMs = 10_000;

export function patternCampaign({ seed, count, seconds, progress }: PatternOptions): PatternReport {
  const startedAt = performance.now();
  const tally: Tally = { runs: 0, matches: 0, pieces: 0, held: 0 };
  const complaints: [number, string][] = [];
  const elapsed = () => performance.now() - startedAt;
  const report = (): PatternReport => ({ ...tally, seed, seconds: elapsed() / 1_000, complaints });
  let reportAt = progressMs;
  for (let number = 0; number * textsPerCase < count && elapsed() < seconds * 1_000; number++) {
    const what = patternTrial(seed, number, tally);
    if (what !== undefined) complaints.push([number, what]);
    if (complaints.length === maxComplaints) break;
    if (elapsed() < reportAt) continue;
    reportAt += progressMs;
    progress?.(report());
  }
  return report();
}

/** @returns what is wrong; undefined when nothing is */
export const patternTrial = (
  seed: number,
  number: number,
  tally: Tally = { runs: 0, matches: 0, pieces: 0, held: 0 },
): string | undefined => trial(caseOf(new Random(seed, number)), tally);

export const patternLine = ({ seed, runs, matches, pieces, held, complaints, seconds }: PatternReport): string =>
  `patterns: seed ${seed}, ${runs} runs, ${matches} matches, ${(held / pieces).toFixed(2)} characters held back on average, ` +
  `${complaints.length} complaints, ${seconds.toFixed(0)} s`;
