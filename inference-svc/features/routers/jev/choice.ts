/** Chooses model and effort: the cheapest of those with nearly the best chance of success. */
import { solveProbability } from "../../../models/routing/choose/difficulty.ts";

/** Reasoning efforts; `none` for models without reasoning. */
export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof efforts)[number];

/** Gain in ability by effort, and the factor by which effort lengthens the answer; tuned by hand. */
const gains: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 0.1,
  low: 0.2,
  medium: 0.45,
  high: 0.7,
  xhigh: 0.85,
  max: 0.95,
};
export const answerLengths: Readonly<Record<Effort, number>> = {
  none: 1,
  minimal: 1.25,
  low: 1.5,
  medium: 2.5,
  high: 4,
  xhigh: 6,
  max: 8,
};

/** Bonus for the effort requested by the client. */
const ofHint = 0.05;

/** Allowed distance below the best chance. */
const slacks = { low: 0.2, medium: 0.1, high: 0.03 } as const;
const defaultSlack = 0.12;
export type JevCostTier = keyof typeof slacks;

export const findSlack = (tier: JevCostTier | undefined): number => (tier === undefined ? defaultSlack : slacks[tier]);

export interface JevOption {
  /** Slug of the model. */
  readonly model: string;
  readonly effort: Effort;
  /** Ability relative to the other models; 0 is average. */
  readonly ability: number;
  /** Expected cost; Infinity if unknown. */
  readonly cost: number;
}

export interface RatedOption extends JevOption {
  /** Probability of solving the task, from 0 to 1. */
  readonly chance: number;
}

export const rateOptions = (
  options: readonly JevOption[],
  difficulty: number,
  hint: string | undefined,
): readonly RatedOption[] =>
  options.map((option) => ({
    ...option,
    chance: solveProbability(option.ability + gains[option.effort], difficulty) + (option.effort === hint ? ofHint : 0),
  }));

export const bestChance = (options: readonly RatedOption[]): number => Math.max(...options.map(({ chance }) => chance));

/** The good enough options, cheapest first, then the others, best first. */
export function rankOptions(options: readonly RatedOption[], slack: number): readonly RatedOption[] {
  const least = bestChance(options) - slack;
  const isAcceptable = ({ chance }: RatedOption) => chance >= least;
  return [
    ...options.filter(isAcceptable).toSorted(byCost),
    ...options.filter((option) => !isAcceptable(option)).toSorted(byChance),
  ];
}

/** Equal infinities compare as equal: their difference would be NaN. */
const byCost = (a: RatedOption, b: RatedOption): number =>
  (a.cost === b.cost ? 0 : a.cost - b.cost) || b.chance - a.chance || (a.model < b.model ? -1 : 1);
const byChance = (a: RatedOption, b: RatedOption): number => b.chance - a.chance || byCost(a, b);

/** The most expensive tier in which the option would still be good enough; undefined for none. */
export const findCostTier = ({ chance }: RatedOption, highest: number): JevCostTier | undefined =>
  (["high", "medium", "low"] as const).find((tier) => chance >= highest - slacks[tier]);
