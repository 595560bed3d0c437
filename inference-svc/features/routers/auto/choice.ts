/**
 * Ranks the models for a request to an auto router. With a requested cost, the best model of that cost band comes first; otherwise the cheapest model good
 * enough for the difficulty of the request.
 */
import { type CostTier, CostRanks, maxCostRank, costTiers, findBandTier } from "./bands.ts";

export interface RankedModel {
  /** Slug of the model. */
  readonly model: string;
  /** Expected cost of one call; Infinity if unknown, so the model ranks as the most expensive. */
  readonly cost: number;
  /** Score for the task, the higher the better; undefined when it is unknown. */
  readonly score: number | undefined;
}

export interface AutoOptions {
  /** Requested cost band. */
  readonly tier?: CostTier;
  /** Deprecated setting, from 0 to 10; ignored when a tier is set. */
  readonly costQualityTradeoff?: number;
  /** Difficulty of the request from 0, small talk, to 4, expert work; ignored when a cost is requested. */
  readonly difficulty?: number;
}

export interface AutoChoice {
  /** Slugs of the models, best first; empty only without candidates. */
  readonly models: readonly string[];
  /** The cost band of the models; absent when no band was requested. */
  readonly tier?: CostTier;
  /** Whether no model has the requested cost, and the nearest band was used. */
  readonly isNearest: boolean;
}

/** Default of the deprecated setting when no model has a score. It allows roughly the cheapest band. */
const defaultTradeoff = 9;

/**
 * How far below the best model a good enough model may score, in standard deviations of all scores: nearly two for
 * small talk, a quarter above a difficulty of about 1.2. The estimate gives one-line prompts 0.2 on average, proofs and
 * system designs 1.2. Tuned by hand.
 */
const toleranceOf = (difficulty: number): number => Math.max(0.25, 2 - 1.5 * difficulty);

/**
 * @param candidates models that can serve the request
 * @param field all models known for the task, including those that cannot serve it: the cost rank of a model must not
 * depend on the request
 */
export function chooseByTask(
  candidates: readonly RankedModel[],
  field: readonly RankedModel[],
  wish: AutoOptions,
): AutoChoice {
  const members = new Set(field.map(({ model }) => model));
  const places = new CostRanks(field.map(({ cost }) => cost));
  const placed = candidates.map((candidate) => ({
    candidate,
    place: places.of(candidate.cost, members.has(candidate.model)),
  }));
  if (wish.tier !== undefined) return ofTier(wish.tier, placed);
  if (wish.costQualityTradeoff === undefined && wish.difficulty !== undefined) {
    const models = goodEnough(candidates, field, toleranceOf(wish.difficulty));
    if (models.length > 0) return { models, isNearest: false };
  }
  const ceiling = maxCostRank(wish.costQualityTradeoff ?? defaultTradeoff);
  const lowest = placed.reduce((least, { place }) => Math.min(least, place), Number.POSITIVE_INFINITY);
  const within = placed.filter(({ place }) => place <= Math.max(ceiling, lowest));
  return { models: ordered(within), isNearest: lowest > ceiling && within.length > 0 };
}

/** The models with a good enough score, cheapest first, then the others, best first; empty when no candidate has a score. */
function goodEnough(
  candidates: readonly RankedModel[],
  field: readonly RankedModel[],
  tolerance: number,
): readonly string[] {
  const highest = Math.max(...candidates.map(scoreOf));
  if (!Number.isFinite(highest)) return [];
  const lowest = highest - tolerance * deviationOf(field.flatMap(({ score }) => score ?? []));
  const enough = candidates.filter((candidate) => scoreOf(candidate) >= lowest);
  const others = candidates.filter((candidate) => scoreOf(candidate) < lowest);
  return [...enough.toSorted(byCost), ...others.toSorted(byScore)].map(({ model }) => model);
}

function deviationOf(scores: readonly number[]): number {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  return scores.length === 0
    ? 0
    : Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length);
}

interface Placed {
  readonly candidate: RankedModel;
  readonly place: number;
}

/** The models of a cost band. If it is empty, the nearest band replaces it; of two equally near ones, the cheaper. */
function ofTier(wished: CostTier, placed: readonly Placed[]): AutoChoice {
  const at = costTiers.indexOf(wished);
  const distance = (tier: CostTier) => Math.abs(costTiers.indexOf(tier) - at);
  const tier = costTiers
    .toSorted((a, b) => distance(a) - distance(b))
    .find((each) => placed.some(({ place }) => findBandTier(place) === each));
  if (tier === undefined) return { models: [], isNearest: false };
  return {
    models: ordered(placed.filter(({ place }) => findBandTier(place) === tier)),
    tier,
    isNearest: tier !== wished,
  };
}

const ordered = (placed: readonly Placed[]): readonly string[] =>
  placed
    .map(({ candidate }) => candidate)
    .toSorted(byScore)
    .map(({ model }) => model);

/** Orders models by score. Ties go to the cheaper model, then to the order of names, so every process chooses alike. */
const byScore = (a: RankedModel, b: RankedModel): number =>
  difference(scoreOf(b), scoreOf(a)) || difference(a.cost, b.cost) || byName(a, b);
const byCost = (a: RankedModel, b: RankedModel): number =>
  difference(a.cost, b.cost) || difference(scoreOf(b), scoreOf(a)) || byName(a, b);
const byName = (a: RankedModel, b: RankedModel): number => (a.model < b.model ? -1 : 1);

const scoreOf = ({ score }: RankedModel): number => score ?? Number.NEGATIVE_INFINITY;

/** Difference of two costs. Equal infinities compare as equal: their difference would be NaN. */
const difference = (a: number, b: number): number => (a === b ? 0 : a - b);
