/** Logistic regression on buckets of words: one signed byte a bucket. */
import { type Word, buckets, bucketsOf } from "./features.ts";

export interface Model {
  /** Of each bucket, in units of `scale`. */
  readonly weights: Int8Array;
  readonly scale: number;
  readonly bias: number;
}

/** How much some words read like an attempt, as log odds. */
export function logOddsOf({ weights, scale, bias }: Model, words: readonly Word[]): number {
  let sum = 0;
  for (const bucket of bucketsOf(words)) sum += weights[bucket] as number;
  return bias + scale * sum;
}

/** From weights as they come from training. */
export function quantised(weights: Float64Array, bias: number): Model {
  const scale = weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0) / 127;
  return { weights: Int8Array.from(weights, (weight) => Math.round(weight / scale)), scale, bias };
}

/** @param written the bytes in base64 */
export function read(written: string, scale: number, bias: number): Model {
  const weights = new Int8Array(Buffer.from(written, "base64"));
  if (weights.length !== buckets) throw new Error(`${weights.length} weights for ${buckets} buckets`);
  return { weights, scale, bias };
}
