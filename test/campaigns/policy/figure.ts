/** A measured figure with its target. */
export interface Figure {
  readonly measure: string;
  readonly found: string;
  readonly goal: string;
  readonly reached: boolean;
}

/** The smallest value that this share of the values does not exceed; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

const ms = (value: number): string => value.toFixed(value < 10 ? 1 : 0);

/** Percentiles of times in milliseconds, as a text. */
export const spreadLabel = (values: readonly number[]): string =>
  `p50 ${ms(quantile(values, 0.5))}, p99 ${ms(quantile(values, 0.99))}, max ${ms(Math.max(...values))} ms (${values.length} times)`;
