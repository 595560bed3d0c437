/** The models that are known to write code, by how well they do: their place among all of them, and whom nothing beats at its price. */

/** A model with a coding score. */
export interface Coder {
  /** Slug. */
  readonly model: string;
  /** From the house file; the higher the better. */
  readonly score: number;
  /** USD per million tokens of the prompt, at the cheapest endpoint that may serve; undefined where none has a price. */
  readonly price: number | undefined;
  /** Tokens per second, median of the last minutes, at its fastest endpoint; undefined while nothing was measured. */
  readonly throughput: number | undefined;
}

/** Best first. Below the middle of the field nobody is recommended. */
export const tiers = ["high", "medium", "low"] as const;
export type Tier = (typeof tiers)[number];

/** Percentiles within the field at which the tiers begin: the top, strong below the top, still above the median. */
const begins: Readonly<Record<Tier, number>> = { high: 0.85, medium: 0.7, low: 0.5 };

export const tierAt = (percentile: number): Tier | undefined => tiers.find((tier) => percentile >= begins[tier]);

/** Of a score among all scores, 0 to 1; those that are equal share the place in their middle. One alone is the best. */
export function percentileOf(score: number, scores: readonly number[]): number {
  if (scores.length < 2) return 1;
  const below = scores.filter((other) => other < score).length;
  const equal = scores.filter((other) => other === score).length;
  return (below + (equal - 1) / 2) / (scores.length - 1);
}

/** Those that no other one matches at a lower price or beats at the same; what has no price is dearer than everything. */
export function frontierOf<Any extends Coder>(coders: readonly Any[]): readonly Any[] {
  return coders.filter((coder) => !coders.some((other) => beats(other, coder)));
}

export const priceOf = ({ price }: Coder): number => price ?? Number.POSITIVE_INFINITY;

function beats(one: Coder, other: Coder): boolean {
  const noWorse = one.score >= other.score && priceOf(one) <= priceOf(other);
  return noWorse && (one.score > other.score || priceOf(one) < priceOf(other));
}
