/** Measures recall at one false alarm in a hundred harmless texts, on texts that the training did not use. */
import type { Finder } from "@sluice/proto/lib/pattern/finder.js";
import { Random } from "../../../support/random.ts";
import { findSpans } from "../finding.ts";
import { attackingText, readValidationTexts } from "./texts.ts";

export interface ScorerEvaluation {
  /** Minimum score, in log odds, at which a text counts as an attempt. */
  readonly threshold: number;
  readonly harmlessTexts: number;
  /** Share of harmless texts that reach the threshold. */
  readonly falseAlarms: number;
  /** Share of false alarms among harmless texts that contain words of attempts. */
  readonly falseAlarmsOfHard: number;
  readonly direct: number;
  readonly indirect: number;
}

/** Number of texts made from each attempt: by itself, and in different surroundings. */
const textsOfEach = 10;
const falseAlarmsAllowed = 0.01;

const share = (scores: readonly number[], threshold: number): number =>
  scores.filter((score) => score >= threshold).length / scores.length;

/** @param given threshold to use instead of the one with one false alarm in a hundred */
export function evaluateScorer(score: (text: string) => number, given?: number): ScorerEvaluation {
  const { direct, indirect, benign, others } = readValidationTexts();
  const chance = new Random(23);
  const hard = benign.map(score);
  const harmless = [...hard, ...others.map(score)].sort((one, other) => other - one);
  const threshold = given ?? (harmless[Math.floor(harmless.length * falseAlarmsAllowed)] as number) + 1e-9;
  const scoresOf = (attacks: readonly string[]): number[] =>
    attacks.flatMap((attack) =>
      Array.from({ length: textsOfEach }, () => score(attackingText(attack, benign, chance))),
    );
  return {
    threshold,
    harmlessTexts: harmless.length,
    falseAlarms: share(harmless, threshold),
    falseAlarmsOfHard: share(hard, threshold),
    direct: share(scoresOf(direct), threshold),
    indirect: share(scoresOf(indirect), threshold),
  };
}

/** The same evaluation for a finder without a score. */
export const evaluateFinder = (finder: Finder): ScorerEvaluation =>
  evaluateScorer((text) => findSpans(finder, [text]).length, 1);
