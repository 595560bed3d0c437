/** Multinomial logistic regression over hash buckets, with one signed byte for each task and each bucket that has a weight. */
import { featureBuckets } from "./features.ts";
import { type Task, trainedTasks } from "./tasks.ts";

export interface Model {
  /** Row of each bucket in `weights`; 0 for buckets without a weight. */
  readonly rows: Uint16Array;
  /** Weights by row and task, in units of `scale`; row 0 is empty. */
  readonly weights: Int8Array;
  readonly scale: number;
  /** Bias of each task. */
  readonly bias: readonly number[];
}

/** A trained model as it is stored in a file, with its bytes in base64. */
export interface ModelFile {
  /** Numbers of the buckets with a weight, in the order of their rows; two bytes each, the lower first. */
  readonly kept: string;
  readonly weights: string;
  readonly scale: number;
  readonly bias: readonly number[];
}

export interface TaskGuess {
  readonly task: Task;
  /** The probability that the model gives, from 0 to 1. */
  readonly confidence: number;
}

const count = trainedTasks.length;

/** Minimum number of features for full confidence: two words are weak evidence. */
const minSize = 8;

/** Weight of each feature: the more features there are, the less each of them counts. */
export const featureWeight = (found: ReadonlySet<number>): number => 1 / Math.sqrt(found.size + minSize);

export function guessTask({ rows, weights, scale, bias }: Model, found: ReadonlySet<number>): TaskGuess {
  const sums = new Float64Array(count);
  for (const bucket of found) {
    const start = rows[bucket]! * count;
    for (let task = 0; task < count; task++) sums[task]! += weights[start + task]!;
  }
  const share = scale * featureWeight(found);
  const scores = trainedTasks.map((_, task) => bias[task]! + share * sums[task]!);
  const highest = Math.max(...scores);
  const total = scores.reduce((sum, score) => sum + Math.exp(score - highest), 0);
  return { task: trainedTasks[scores.indexOf(highest)]!, confidence: 1 / total };
}

export function parseModel({ kept, weights: written, scale, bias }: ModelFile): Model {
  const buffer = Buffer.from(kept, "base64");
  const rows = new Uint16Array(featureBuckets);
  for (let row = 1; row <= buffer.length / 2; row++) rows[buffer.readUInt16LE(2 * (row - 1))] = row;
  const bytes = Buffer.from(written, "base64");
  if (bytes.length !== (buffer.length / 2) * count) throw new Error(`${bytes.length} weights for ${count} tasks`);
  const weights = new Int8Array(count + bytes.length);
  weights.set(bytes, count);
  return { rows, weights, scale, bias };
}

/** Maximum number of buckets with a weight in a stored model; those with the largest weights are kept. */
const maxKept = 4_096;

/** Converts trained weights, grouped by bucket, to the form of the file. */
export function toModelFile(weights: Float64Array, bias: readonly number[]): ModelFile {
  const scale = weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0) / 127;
  const strength = (bucket: number) =>
    weights.subarray(bucket * count, (bucket + 1) * count).reduce((sum, weight) => sum + weight * weight, 0);
  const kept = Array.from({ length: featureBuckets }, (_, bucket) => ({ bucket, strength: strength(bucket) }))
    .filter((each) => each.strength > 0)
    .sort((a, b) => b.strength - a.strength)
    .slice(0, maxKept)
    .map(({ bucket }) => bucket)
    .sort((a, b) => a - b);
  const rows = kept.flatMap((bucket) => [...weights.subarray(bucket * count, (bucket + 1) * count)]);
  return {
    kept: base64(Uint16Array.from(kept)),
    weights: base64(Int8Array.from(rows, (weight) => Math.round(weight / scale))),
    scale,
    bias,
  };
}

const base64 = (values: Uint16Array | Int8Array): string => Buffer.from(values.buffer).toString("base64");
