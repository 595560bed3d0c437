/** The models with a coding score, their percentiles, and the Pareto frontier of score and price. */

/** A model with a coding score. */
export interface CodingModel {
  /** Slug of the model. */
  readonly model: string;
  /** The configured score; the higher the better. */
  readonly score: number;
  /**
   * Price in USD per million tokens, weighted by the share of prompt tokens, at the cheapest usable endpoint; undefined
   * when no endpoint has a price.
   */
  readonly price: number | undefined;
  /** Median tokens per second of the last minutes at the fastest endpoint; undefined while nothing was measured. */
  readonly throughput: number | undefined;
}

/** Tiers of models by score, best first. Models below the median are in none. */
export const tiers = ["high", "medium", "low"] as const;
export type ScoreTier = (typeof tiers)[number];

/** Lowest percentile of each tier. */
const begins: Readonly<Record<ScoreTier, number>> = { high: 0.85, medium: 0.7, low: 0.5 };

export const findScoreTier = (percentile: number): ScoreTier | undefined =>
  tiers.find((tier) => percentile >= begins[tier]);

/** Percentile of a score among all scores, from 0 to 1. Equal scores share the middle of their ranks, and a single score is the best. */
export function percentileOf(score: number, scores: readonly number[]): number {
  if (scores.length < 2) return 1;
  const below = scores.filter((other) => other < score).length;
  const equal = scores.filter((other) => other === score).length;
  return (below + (equal - 1) / 2) / (scores.length - 1);
}

/**
 * The Pareto frontier: models for which no other is as good at a lower price, or better at the same price. A model
 * without a price counts as the most expensive.
 */
export function findFrontier<Any extends CodingModel>(coders: readonly Any[]): readonly Any[] {
  return coders.filter((coder) => !coders.some((other) => beats(other, coder)));
}

export const priceOf = ({ price }: CodingModel): number => price ?? Number.POSITIVE_INFINITY;

function beats(one: CodingModel, other: CodingModel): boolean {
  const noWorse = one.score >= other.score && priceOf(one) <= priceOf(other);
  return noWorse && (one.score > other.score || priceOf(one) < priceOf(other));
}
