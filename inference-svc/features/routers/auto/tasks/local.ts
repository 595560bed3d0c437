/** Guesses the kind of task without a call; every process comes to the same guess. */
import type { TurnRequest } from "../../../../turn/request.ts";
import { bucketsOf, readingOf } from "./features.ts";
import { weights } from "./gen/weights.ts";
import { type Guess, guess, read } from "./model.ts";

/** Minimum confidence: below it a guess is little better than none. */
const minConfidence = 0.35;
/** From here on nine of ten guesses are right: see the plugin's README. */
const sureConfidence = 0.45;

const model = read(weights);

export const isSure = ({ confidence }: Guess): boolean => confidence >= sureConfidence;

export function localGuess(request: TurnRequest): Guess {
  const { task, confidence } = guess(model, bucketsOf(readingOf(request)));
  return { task: confidence < minConfidence ? "other" : task, confidence };
}
