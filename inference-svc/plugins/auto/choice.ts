/** Which models a request to an auto router is served by, in order: of those that cost what is wished, the best at the task first. */
import { type CostTier, Places, ceilingOf, costTiers, tierAt } from "./bands.ts";

export interface Candidate {
  /** Slug. */
  readonly model: string;
  /** Expected of one call; Infinity where nobody knows: that is dearer than everything. */
  readonly cost: number;
  /** How well it does at the task, the higher the better; undefined where nobody knows. */
  readonly score: number | undefined;
}

export interface Wish {
  /** A band of cost, neither cheaper nor dearer. */
  readonly tier?: CostTier;
  /** Without a tier: 0 to 10, deprecated. */
  readonly costQualityTradeoff?: number;
}

export interface Choice {
  /** Best first; empty only where nobody was there to choose from. */
  readonly models: readonly string[];
  /** The band that they are of; absent where none was asked for. */
  readonly tier?: CostTier;
  /** Nobody is left at the cost that was wished: these are the nearest. */
  readonly isNearest: boolean;
}

/** About what the band of the cheapest comes to. */
const usualTradeoff = 9;

/**
 * @param candidates that can serve the request
 * @param field all that are known for the task, whether they can serve it or not: a request makes nobody dearer
 */
export function choose(candidates: readonly Candidate[], field: readonly Candidate[], wish: Wish): Choice {
  const members = new Set(field.map(({ model }) => model));
  const places = new Places(field.map(({ cost }) => cost));
  const placed = candidates.map((candidate) => ({
    candidate,
    place: places.of(candidate.cost, members.has(candidate.model)),
  }));
  if (wish.tier !== undefined) return ofTier(wish.tier, placed);
  const ceiling = ceilingOf(wish.costQualityTradeoff ?? usualTradeoff);
  const lowest = placed.reduce((least, { place }) => Math.min(least, place), Number.POSITIVE_INFINITY);
  const within = placed.filter(({ place }) => place <= Math.max(ceiling, lowest));
  return { models: ordered(within), isNearest: lowest > ceiling && within.length > 0 };
}

interface Placed {
  readonly candidate: Candidate;
  readonly place: number;
}

/** An empty band is stood in for by the nearest; of two that are as near, by the cheaper. */
function ofTier(wished: CostTier, placed: readonly Placed[]): Choice {
  const at = costTiers.indexOf(wished);
  const distance = (tier: CostTier) => Math.abs(costTiers.indexOf(tier) - at);
  const tier = costTiers
    .toSorted((a, b) => distance(a) - distance(b))
    .find((each) => placed.some(({ place }) => tierAt(place) === each));
  if (tier === undefined) return { models: [], isNearest: false };
  return { models: ordered(placed.filter(({ place }) => tierAt(place) === tier)), tier, isNearest: tier !== wished };
}

/** Of equals the cheaper, then the same in every process. */
const ordered = (placed: readonly Placed[]): readonly string[] =>
  placed
    .map(({ candidate }) => candidate)
    .toSorted(
      (a, b) => difference(scoreOf(b), scoreOf(a)) || difference(a.cost, b.cost) || (a.model < b.model ? -1 : 1),
    )
    .map(({ model }) => model);

const scoreOf = ({ score }: Candidate): number => score ?? Number.NEGATIVE_INFINITY;

/** Two infinities are the same: their difference is no number. */
const difference = (a: number, b: number): number => (a === b ? 0 : a - b);
