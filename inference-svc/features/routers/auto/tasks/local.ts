/** Guesses the task of a request without a call of a model; every process guesses alike. */
import type { TurnRequest } from "../../../../turn/request.ts";
import { bucketsOf, extractTaskFeatures } from "./features.ts";
import { weights } from "./gen/weights.ts";
import { type TaskGuess, guessTask, parseModel } from "./model.ts";

/** Minimum confidence: below it a guess is little better than none. */
const minConfidence = 0.35;
/** Confidence from which on nine of ten guesses are right; see the plugin's README. */
const sureConfidence = 0.45;

const model = parseModel(weights);

export const isConfident = ({ confidence }: TaskGuess): boolean => confidence >= sureConfidence;

export function guessTaskLocally(request: TurnRequest): TaskGuess {
  const { task, confidence } = guessTask(model, bucketsOf(extractTaskFeatures(request)));
  return { task: confidence < minConfidence ? "other" : task, confidence };
}
