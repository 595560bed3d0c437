/**
 * How much a text reads like an attempt to take a model out of its instructions: a second opinion beside the wordings, for
 * those that nobody has listed. Logistic regression; a hint and no verdict.
 */
import { windowsOf } from "./features.ts";
import { bias, scale, threshold, weights } from "./gen/weights.ts";

const table = new Int8Array(Buffer.from(weights, "base64"));

/** From 0 to 1, of the window that reads most like one. Linear in the text. */
export function injectionScore(text: string): number {
  let highest = Number.NEGATIVE_INFINITY;
  for (const window of windowsOf(text)) {
    let sum = 0;
    for (const bucket of window) sum += table[bucket] as number;
    highest = Math.max(highest, bias + scale * sum);
  }
  return 1 / (1 + Math.exp(-highest));
}

/** Whether the score is one that a hundredth of harmless texts reaches (of those that it was measured with). */
export const readsLikeInjection = (text: string): boolean => injectionScore(text) >= threshold;
