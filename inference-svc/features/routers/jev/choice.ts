/** Chooses model and reasoning effort for the jev-router: the cheapest combination with nearly the best chance of success. */
import { solveProbability } from "../../../models/routing/choose/difficulty.ts";

/** Reasoning efforts; `none` for models without reasoning. */
export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof efforts)[number];

/** For each effort, the gain in ability and the factor by which the answer gets longer; tuned by hand. */
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

/** Bonus on the chance of success for the effort the client requested. */
const ofHint = 0.05;

/** For each cost tier, how far the chance of success may be below the best. */
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
  /** Expected cost of the call; Infinity if unknown. */
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

/** Options that are good enough, cheapest first, then the others, best first. */
export function rankOptions(options: readonly RatedOption[], slack: number): readonly RatedOption[] {
  const least = bestChance(options) - slack;
  const isAcceptable = ({ chance }: RatedOption) => chance >= least;
  return [
    ...options.filter(isAcceptable).toSorted(byCost),
    ...options.filter((option) => !isAcceptable(option)).toSorted(byChance),
  ];
}

/** Orders options by cost. Equal infinities compare as equal, because their difference would be NaN. */
const byCost = (a: RatedOption, b: RatedOption): number =>
  (a.cost === b.cost ? 0 : a.cost - b.cost) || b.chance - a.chance || (a.model < b.model ? -1 : 1);
const byChance = (a: RatedOption, b: RatedOption): number => b.chance - a.chance || byCost(a, b);

/** The most expensive cost tier in which the option would still be good enough. @returns undefined when there is none */
export const findCostTier = ({ chance }: RatedOption, highest: number): JevCostTier | undefined =>
  (["high", "medium", "low"] as const).find((tier) => chance >= highest - slacks[tier]);
