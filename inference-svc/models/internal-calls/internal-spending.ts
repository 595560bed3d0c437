/** Cost of the internal calls of one turn. */
import { type Usage, totalCost } from "../../turn/usage.ts";

export class Spending {
  /** Cost in 10^-12 USD; undefined once the price of a call is unknown. */
  pico: bigint | undefined = 0n;

  readonly note = (usage: Usage | undefined): void => {
    const cost = usage?.cost;
    if (usage === undefined) return;
    this.pico = cost && this.pico !== undefined ? this.pico + totalCost(cost) : undefined;
  };
}
