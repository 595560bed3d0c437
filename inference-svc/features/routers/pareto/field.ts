/** The models with a coding score: their percentiles and Pareto frontier. */

/** A model with a coding score. */
export interface CodingModel {
  /** Slug. */
  readonly model: string;
  /** The configured score; the higher the better. */
  readonly score: number;
  /** USD per million tokens by the request's price source, at the cheapest usable endpoint; undefined when none has a price. */
  readonly price: number | undefined;
  /** Tokens per second, median of the last minutes, at its fastest endpoint; undefined while nothing was measured. */
  readonly throughput: number | undefined;
}

/** Best first. Models below the median are not recommended. */
export const tiers = ["high", "medium", "low"] as const;
export type ScoreTier = (typeof tiers)[number];

/** Lower percentile of each tier: the top, strong, and above the median. */
const begins: Readonly<Record<ScoreTier, number>> = { high: 0.85, medium: 0.7, low: 0.5 };

export const findScoreTier = (percentile: number): ScoreTier | undefined =>
  tiers.find((tier) => percentile >= begins[tier]);

/** Percentile of a score among all scores, 0 to 1; equal scores share the middle of their ranks, and a single score is the best. */
export function percentileOf(score: number, scores: readonly number[]): number {
  if (scores.length < 2) return 1;
  const below = scores.filter((other) => other < score).length;
  const equal = scores.filter((other) => other === score).length;
  return (below + (equal - 1) / 2) / (scores.length - 1);
}

/** Models without a match at a lower price or better model at the same price; a model without a price counts as the most expensive. */
export function findFrontier<Any extends CodingModel>(coders: readonly Any[]): readonly Any[] {
  return coders.filter((coder) => !coders.some((other) => beats(other, coder)));
}

export const priceOf = ({ price }: CodingModel): number => price ?? Number.POSITIVE_INFINITY;

function beats(one: CodingModel, other: CodingModel): boolean {
  const noWorse = one.score >= other.score && priceOf(one) <= priceOf(other);
  return noWorse && (one.score > other.score || priceOf(one) < priceOf(other));
}
