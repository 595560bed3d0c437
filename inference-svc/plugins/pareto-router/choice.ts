/** Which models a request to the pareto-router is served by, in order. */
import { type Coder, type ScoreTier, frontierOf, percentileOf, priceOf, findScoreTier, tiers } from "./field.ts";

export interface ParetoWish {
  /** USD per million tokens by the price source; then the best for it is wanted, whatever its tier. */
  readonly maxPrice?: number;
  /** 0 to 1: a third and two thirds divide the tiers. The best tier when absent. */
  readonly minCodingScore?: number;
  /** Whether the fastest of a tier is wanted, not the cheapest. */
  readonly fastest: boolean;
}

export interface ParetoChoice {
  /** Best first. */
  readonly coders: readonly Coder[];
  /** Absent where a price was given in its place. */
  readonly tier?: ScoreTier;
  /** How many of those that can serve are beaten by none. */
  readonly frontierSize: number;
}

/**
 * @param coders that can serve the request
 * @param scores of the whole field
 */
export function chooseByScore(coders: readonly Coder[], scores: readonly number[], wish: ParetoWish): ParetoChoice {
  const frontier = frontierOf(coders);
  const frontierSize = frontier.length;
  const { maxPrice } = wish;
  if (maxPrice !== undefined) return { coders: within(maxPrice, coders, frontier), frontierSize };
  const inTier = (tier: ScoreTier) => coders.filter(({ score }) => findScoreTier(percentileOf(score, scores)) === tier);
  const tier = nearest(wished(wish.minCodingScore), (each) => inTier(each).length > 0);
  if (tier === undefined) return { coders: [], frontierSize };
  return { coders: inTier(tier).toSorted(wish.fastest ? byThroughput : byPrice), tier, frontierSize };
}

/** The best on the frontier first, then what the frontier beats, the best first too. */
function within(maxPrice: number, coders: readonly Coder[], frontier: readonly Coder[]): readonly Coder[] {
  const on = new Set(frontier);
  const affordable = coders.filter((coder) => priceOf(coder) <= maxPrice).toSorted(byScore);
  return [...affordable.filter((coder) => on.has(coder)), ...affordable.filter((coder) => !on.has(coder))];
}

const wished = (minCodingScore = 1): ScoreTier => {
  if (minCodingScore >= 0.66) return "high";
  return minCodingScore >= 0.33 ? "medium" : "low";
};

/** An empty tier is stood in for by the next better one, then by the next worse one. */
function nearest(tier: ScoreTier, exists: (tier: ScoreTier) => boolean): ScoreTier | undefined {
  const at = tiers.indexOf(tier);
  return [tier, ...tiers.slice(0, at).toReversed(), ...tiers.slice(at + 1)].find(exists);
}

const byScore = (a: Coder, b: Coder): number => b.score - a.score || difference(priceOf(a), priceOf(b));
const byPrice = (a: Coder, b: Coder): number => difference(priceOf(a), priceOf(b)) || b.score - a.score;
/** Models without recent measurements come first, so that they get measured. */
const byThroughput = (a: Coder, b: Coder): number => difference(speedOf(b), speedOf(a)) || byPrice(a, b);
const speedOf = ({ throughput }: Coder): number => throughput ?? Number.POSITIVE_INFINITY;

/** Two infinities are the same: their difference is no number. */
const difference = (a: number, b: number): number => (a === b ? 0 : a - b);
