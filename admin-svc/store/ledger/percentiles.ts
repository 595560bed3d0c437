/** Percentiles from counts of latencies in buckets, four buckets for each doubling. */

/** Decimal digits of each bucket. */
const digits = 12;

export interface Percentiles {
  /** Milliseconds, at most 9 % (2^(1/8)) off. */
  readonly p50: number;
  readonly p95: number;
}

/**
 * Undefined without a count.
 * @param counts the number from `usage_sums` with the counts: the last twelve digits belong to the first bucket
 */
export function findPercentiles(counts: string): Percentiles | undefined {
  if (counts === "0") return undefined;
  const buckets: number[] = [];
  let all = 0;
  for (let end = counts.length; end > 0; end -= digits) {
    const count = Number(counts.slice(Math.max(0, end - digits), end));
    buckets.push(count);
    all += count;
  }
  return { p50: reached(buckets, 0.5 * all), p95: reached(buckets, 0.95 * all) };
}

/** Middle of the bucket with the wanted rank. */
function reached(buckets: readonly number[], wanted: number): number {
  let counted = 0;
  const bucket = buckets.findIndex((count) => (counted += count) >= wanted);
  return 2 ** ((bucket - 0.5) / 4);
}
