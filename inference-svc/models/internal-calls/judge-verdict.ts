/** Reads a judge's probability of a broken rule from its answer. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import type { ReplyFormat } from "./internal-call.ts";

/** A certain probability would have an infinite logit, beyond any correction. */
const least = 1e-4;
/** Minimum probability of the two letters together; below it the answer is something else. */
const minOnLetters = 0.5;

/** The letter A means broken, B means followed. Undefined when neither is probable. */
export function probabilityFromLetters(choices: readonly ReplyFormat[]): number | undefined {
  const on = (letter: string) =>
    choices
      .filter(({ token }) => token.trim().toUpperCase() === letter)
      .reduce((sum, { logprob }) => sum + Math.exp(logprob), 0);
  const broken = on("A");
  const followed = on("B");
  return broken + followed < minOnLetters ? undefined : broken / (broken + followed);
}

/** Undefined when the answer does not have the requested form, or contradicts itself. */
export function probabilityFromText(text: string): number | undefined {
  const answer = findObject(text);
  const { verdict, probability } = answer ?? {};
  if (typeof probability !== "number" || !(probability >= 0 && probability <= 1)) return undefined;
  if (verdict !== "broken" && verdict !== "followed") return undefined;
  const agrees = verdict === "broken" ? probability >= 0.5 : probability <= 0.5;
  return agrees ? probability : undefined;
}

/** The object in an answer, possibly after a word or within a code fence, as models like to add. */
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
 * Platt's scaling: sigmoid(a * logit(p) + b). Without a correction, the probability stays exact to the last digit: it is compared with a threshold of up to
 * 1.
 */
export function calibrate(probability: number, { a, b }: { readonly a: number; readonly b: number }): number {
  if (a === 1 && b === 0) return probability;
  const uncertain = Math.min(1 - least, Math.max(least, probability));
  return 1 / (1 + Math.exp(-(a * Math.log(uncertain / (1 - uncertain)) + b)));
}
