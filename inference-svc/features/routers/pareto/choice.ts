/** Ranks the models for a request to the router `pareto-router`. */
import {
  type CodingModel,
  type ScoreTier,
  findFrontier,
  percentileOf,
  priceOf,
  findScoreTier,
  tiers,
} from "./field.ts";

export interface ParetoOptions {
  /** Maximum price in USD per million tokens. If present, the best model within it is chosen, whatever its tier. */
  readonly maxPrice?: number;
  /** Minimum score from 0 to 1, which selects the tier: tiers begin at 0, one third and two thirds. The best tier when absent. */
  readonly minCodingScore?: number;
  /** Whether the fastest model of a tier comes first, instead of the cheapest. */
  readonly fastest: boolean;
}

export interface ParetoChoice {
  /** The models, best first. */
  readonly coders: readonly CodingModel[];
  /** The tier of the chosen model; absent when a price was requested instead. */
  readonly tier?: ScoreTier;
  /** Number of usable models on the Pareto frontier of score and price. */
  readonly frontierSize: number;
}

/**
 * @param coders models that can serve the request
 * @param scores scores of all models of the catalogue
 */
export function chooseByScore(
  coders: readonly CodingModel[],
  scores: readonly number[],
  wish: ParetoOptions,
): ParetoChoice {
  const frontier = findFrontier(coders);
  const frontierSize = frontier.length;
  const { maxPrice } = wish;
  if (maxPrice !== undefined) return { coders: within(maxPrice, coders, frontier), frontierSize };
  const inTier = (tier: ScoreTier) => coders.filter(({ score }) => findScoreTier(percentileOf(score, scores)) === tier);
  const tier = nearest(wished(wish.minCodingScore), (each) => inTier(each).length > 0);
  if (tier === undefined) return { coders: [], frontierSize };
  return { coders: inTier(tier).toSorted(wish.fastest ? byThroughput : byPrice), tier, frontierSize };
}

/** The models within the price: first those on the frontier, then the others, each best first. */
function within(
  maxPrice: number,
  coders: readonly CodingModel[],
  frontier: readonly CodingModel[],
): readonly CodingModel[] {
  const on = new Set(frontier);
  const affordable = coders.filter((coder) => priceOf(coder) <= maxPrice).toSorted(byScore);
  return [...affordable.filter((coder) => on.has(coder)), ...affordable.filter((coder) => !on.has(coder))];
}

const wished = (minCodingScore = 1): ScoreTier => {
  if (minCodingScore >= 0.66) return "high";
  return minCodingScore >= 0.33 ? "medium" : "low";
};

/** The tier to use: an empty tier is replaced by the next better one, or else the next worse. */
function nearest(tier: ScoreTier, exists: (tier: ScoreTier) => boolean): ScoreTier | undefined {
  const at = tiers.indexOf(tier);
  return [tier, ...tiers.slice(0, at).toReversed(), ...tiers.slice(at + 1)].find(exists);
}

const byScore = (a: CodingModel, b: CodingModel): number => b.score - a.score || difference(priceOf(a), priceOf(b));
const byPrice = (a: CodingModel, b: CodingModel): number => difference(priceOf(a), priceOf(b)) || b.score - a.score;
/** Orders models by speed. Models without recent measurements come first, so they get measured. */
const byThroughput = (a: CodingModel, b: CodingModel): number => difference(speedOf(b), speedOf(a)) || byPrice(a, b);
const speedOf = ({ throughput }: CodingModel): number => throughput ?? Number.POSITIVE_INFINITY;

/** Difference of two numbers. Equal infinities compare as equal, because their difference would be NaN. */
const difference = (a: number, b: number): number => (a === b ? 0 : a - b);
