/** Cost bands of the auto routers: the rank of a model by cost among all models known for a task. */

/** The cost bands, cheapest first. */
export const costTiers = ["low", "medium", "high", "xhigh", "max"] as const;
export type CostTier = (typeof costTiers)[number];

/** Lowest rank of each band, from 0 to 1; the last band includes the most expensive model. */
const begins: Readonly<Record<CostTier, number>> = { low: 0, medium: 0.2, high: 0.4, xhigh: 0.6, max: 0.8 };

/** @param place rank of a cost, from 0 to 1 */
export const findBandTier = (place: number): CostTier => costTiers.findLast((tier) => place >= begins[tier]) ?? "low";

/** Highest rank the deprecated setting allows: 10 leaves the cheapest tenth of the models, 0 nine tenths. */
export const maxCostRank = (costQualityTradeoff: number): number => (90 - 8 * costQualityTradeoff) / 100;

/** Ranks costs among the candidates, from 0 to 1; equal costs share the middle of their ranks. A single cost has rank 0, the cheapest. */
export class CostRanks {
  readonly #sorted: readonly number[];

  /** @param costs costs of all candidates; Infinity where unknown */
  constructor(costs: readonly number[]) {
    this.#sorted = costs.toSorted((a, b) => (a === b ? 0 : a - b));
  }

  /** The rank of a cost. @param isMember whether the cost is one of the candidates'; otherwise it is ranked as if added */
  of(cost: number, isMember: boolean): number {
    const below = this.#countUntil((other) => other >= cost);
    const equal = this.#countUntil((other) => other > cost) - below + Number(!isMember);
    const others = this.#sorted.length - Number(isMember);
    return others === 0 ? 0 : (below + (equal - 1) / 2) / others;
  }

  /** Number of costs before the first one for which `reached` is true. */
  #countUntil(reached: (cost: number) => boolean): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (reached(this.#sorted[middle] as number)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
