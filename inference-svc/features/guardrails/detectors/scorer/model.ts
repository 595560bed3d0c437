/** Logistic regression over hash buckets of words, with one signed byte per bucket. */
import { type ScorerWord, bucketCount, findBuckets } from "./features.ts";

export interface ScorerModel {
  /** Weight of each bucket, in units of `scale`. */
  readonly weights: Int8Array;
  readonly scale: number;
  readonly bias: number;
}

/** Log odds that these words are a prompt injection. */
export function computeLogOdds({ weights, scale, bias }: ScorerModel, words: readonly ScorerWord[]): number {
  let sum = 0;
  for (const bucket of findBuckets(words)) sum += weights[bucket] as number;
  return bias + scale * sum;
}

/** Packs trained weights into one byte each. */
export function quantizeModel(weights: Float64Array, bias: number): ScorerModel {
  const scale = weights.reduce((max, weight) => Math.max(max, Math.abs(weight)), 0) / 127;
  return { weights: Int8Array.from(weights, (weight) => Math.round(weight / scale)), scale, bias };
}

/** Decodes trained weights. @param written the weights in base64 */
export function decodeModel(written: string, scale: number, bias: number): ScorerModel {
  const weights = new Int8Array(Buffer.from(written, "base64"));
  if (weights.length !== bucketCount) throw new Error(`${weights.length} weights for ${bucketCount} buckets`);
  return { weights, scale, bias };
}
