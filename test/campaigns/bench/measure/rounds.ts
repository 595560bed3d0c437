/** Paired rounds: the reference and the subjects are measured in turn, so disturbances of the machine affect all of them. */

/** Maximum relative distance of the reference from its median over all rounds; a round beyond it does not count. */
const referenceTolerance = 0.3;
/** Maximum share of the machine used by processes outside of the run; a measurement beyond it does not count. */
export const maxForeignShare = 0.2;
/** Maximum ratio between the reference's highest and lowest cost; on a quiet machine it is lower. */
export const spreadTolerance = 1.6;
const repetitions = 2;

export interface Round {
  /** Cost of one unit at the reference, in microseconds. */
  readonly referenceUs: number;
  /** Share of the machine used by processes outside of the run: the highest over the round's windows. */
  readonly foreignShare: number;
}

export interface Rounds<Measured extends Round> {
  /** The rounds that count; all rounds if the result is inconclusive. */
  readonly used: readonly Measured[];
  readonly rejected: number;
  readonly spread: Spread;
  /** True if too few rounds count or the reference varied too much, so the figures prove nothing. */
  readonly inconclusive: boolean;
}

/** Minimum and maximum cost at the reference, over all rounds, including those that do not count. */
export interface Spread {
  readonly leastUs: number;
  readonly mostUs: number;
  readonly fold: number;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

export interface Interval {
  readonly from: number;
  readonly to: number;
}

/** Confidence interval of 95 % for the median, from ranks, so it assumes no distribution. For less than six values it is their whole range. */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = values.toSorted((a, b) => a - b);
  const outside = Math.max(0, Math.floor((sorted.length - 1.96 * Math.sqrt(sorted.length)) / 2));
  return { from: sorted.at(outside) ?? Number.NaN, to: sorted.at(-1 - outside) ?? Number.NaN };
}

/** Percentile by the nearest rank. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN;
}

export function spreadOf(referenceUs: readonly number[]): Spread {
  const [leastUs, mostUs] = [Math.min(...referenceUs), Math.max(...referenceUs)];
  return { leastUs, mostUs, fold: mostUs / leastUs };
}

function counting<Measured extends Round>(rounds: readonly Measured[]): Measured[] {
  const middle = median(rounds.map(({ referenceUs }) => referenceUs));
  return rounds.filter(
    ({ referenceUs, foreignShare }) =>
      Math.abs(referenceUs / middle - 1) <= referenceTolerance && foreignShare <= maxForeignShare,
  );
}

/**
 * Measures until enough rounds count, with at most two repetitions of rounds that do not.  @param mayRepeat asked before each repetition, since the
 * whole run has a time limit
 */
export async function pairedRounds<Measured extends Round>(
  wanted: number,
  measure: (round: number) => Promise<Measured>,
  mayRepeat: () => boolean,
): Promise<Rounds<Measured>> {
  const all: Measured[] = [];
  for (let repetition = 0; repetition <= repetitions; repetition++) {
    const missing = wanted - counting(all).length;
    if (missing === 0 || (repetition > 0 && !mayRepeat())) break;
    for (let round = 0; round < missing; round++) all.push(await measure(all.length));
  }
  const counted = counting(all);
  const tooFew = counted.length < wanted;
  const spread = spreadOf(all.map(({ referenceUs }) => referenceUs));
  return {
    used: tooFew ? all : counted,
    rejected: all.length - counted.length,
    spread,
    inconclusive: tooFew || spread.fold > spreadTolerance,
  };
}
