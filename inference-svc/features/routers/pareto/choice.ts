/** Ranks the models for a request to the pareto-router. */
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
  /** USD per million tokens by the request's price source. If present, the best model within the price is chosen, whatever its tier. */
  readonly maxPrice?: number;
  /** 0 to 1: the tiers are divided at one and two thirds. The best tier when absent. */
  readonly minCodingScore?: number;
  /** Whether the fastest model of a tier comes first, instead of the cheapest. */
  readonly fastest: boolean;
}

export interface ParetoChoice {
  /** Best first. */
  readonly coders: readonly CodingModel[];
  /** Absent when a price was requested instead. */
  readonly tier?: ScoreTier;
  /** Number of usable models on the Pareto frontier. */
  readonly frontierSize: number;
}

/**
 * @param coders models that can serve the request
 * @param scores of all models
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

/** Affordable models: first those on the frontier, then the others, each best first. */
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

/** The next better tier replaces an empty tier, then the next worse. */
function nearest(tier: ScoreTier, exists: (tier: ScoreTier) => boolean): ScoreTier | undefined {
  const at = tiers.indexOf(tier);
  return [tier, ...tiers.slice(0, at).toReversed(), ...tiers.slice(at + 1)].find(exists);
}

const byScore = (a: CodingModel, b: CodingModel): number => b.score - a.score || difference(priceOf(a), priceOf(b));
const byPrice = (a: CodingModel, b: CodingModel): number => difference(priceOf(a), priceOf(b)) || b.score - a.score;
/** Models without recent measurements come first, to get measured. */
const byThroughput = (a: CodingModel, b: CodingModel): number => difference(speedOf(b), speedOf(a)) || byPrice(a, b);
const speedOf = ({ throughput }: CodingModel): number => throughput ?? Number.POSITIVE_INFINITY;

/** Equal infinities compare as equal: their difference would be NaN. */
const difference = (a: number, b: number): number => (a === b ? 0 : a - b);
