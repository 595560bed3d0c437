/** Computes percentiles from counts of latencies in buckets. Four buckets cover each doubling. */

/** Number of decimal digits that each bucket has in the stored number. */
const digits = 12;

export interface Percentiles {
  /** Percentiles in milliseconds, at most 9 % (2^(1/8)) off. */
  readonly p50: number;
  readonly p95: number;
}

/**
 * Computes percentiles; undefined when all counts are 0.
 * @param counts the stored number; its last twelve digits are the count of the first bucket
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

/** Middle of the bucket containing a rank. */
function reached(buckets: readonly number[], wanted: number): number {
  let counted = 0;
  const bucket = buckets.findIndex((count) => (counted += count) >= wanted);
  return 2 ** ((bucket - 0.5) / 4);
}
