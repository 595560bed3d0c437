/** Reads from a judge's answer the probability that a rule is broken. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import type { ReplyFormat } from "./internal-call.ts";

/** Minimum probability, and the minimum distance to 1: a certain probability would have an infinite logit, which no correction could change. */
const least = 1e-4;
/** Minimum probability of the two letters together; with less, the model wrote something else. */
const minOnLetters = 0.5;

/** The probability by the letters of the answer: A means broken, B means followed. @returns undefined when neither is probable */
export function probabilityFromLetters(choices: readonly ReplyFormat[]): number | undefined {
  const on = (letter: string) =>
    choices
      .filter(({ token }) => token.trim().toUpperCase() === letter)
      .reduce((sum, { logprob }) => sum + Math.exp(logprob), 0);
  const broken = on("A");
  const followed = on("B");
  return broken + followed < minOnLetters ? undefined : broken / (broken + followed);
}

/** The probability that the answer states as text. @returns undefined when the answer does not have the requested form, or contradicts itself */
export function probabilityFromText(text: string): number | undefined {
  const answer = findObject(text);
  const { verdict, probability } = answer ?? {};
  if (typeof probability !== "number" || !(probability >= 0 && probability <= 1)) return undefined;
  if (verdict !== "broken" && verdict !== "followed") return undefined;
  const agrees = verdict === "broken" ? probability >= 0.5 : probability <= 0.5;
  return agrees ? probability : undefined;
}

/** Finds the object in an answer, around which models like to put words or a code fence. */
export function findObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const from = text.indexOf("{");
  const to = text.lastIndexOf("}");
  if (from === -1 || to < from) return undefined;
  try {
    return parseWithin(text.slice(from, to + 1)) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/**
 * Corrects a probability by Platt's scaling: sigmoid(a * logit(p) + b). The correction that changes nothing is not
 * computed, so the probability stays exact for a comparison with a threshold of up to 1.
 */
export function calibrate(probability: number, { a, b }: { readonly a: number; readonly b: number }): number {
  if (a === 1 && b === 0) return probability;
  const uncertain = Math.min(1 - least, Math.max(least, probability));
  return 1 / (1 + Math.exp(-(a * Math.log(uncertain / (1 - uncertain)) + b)));
}
