/** Percentiles of measurements over the last five minutes or half hour, to within 7 %, from buckets whose bounds grow by 15 %. */
import { RollingCounts } from "./rolling-counts.ts";

const ratio = Math.log(1.15);
/** Lower bound of the first bucket: a millisecond when seconds are measured. The last bucket then begins at half a day. */
const minValue = 0.001;
const buckets = 128;
const slots = 10;
/** Milliseconds per slot for the last five minutes, which routing uses. */
const recentSlotMs = 30_000;
/** Milliseconds per slot for the last half hour, which lists show. */
const listedSlotMs = 180_000;

export class RecentPercentiles {
  readonly #recent = new RollingCounts(buckets, slots, recentSlotMs);
  readonly #listed = new RollingCounts(buckets, slots, listedSlotMs);

  add(value: number, now: number): void {
    const bucket = Math.floor(Math.log(value / minValue) / ratio);
    const at = Math.min(buckets - 1, Math.max(0, bucket));
    this.#recent.add(at, now);
    this.#listed.add(at, now);
  }

  /** The value below which this share (0 to 1) of the last five minutes' measurements lies; undefined without measurements. */
  at(share: number, now: number): number | undefined {
    return valueAt(share, this.#recent.sum(now));
  }

  /** The value below which this share (0 to 1) of the last half hour's measurements lies; undefined without measurements. */
  atInHalfHour(share: number, now: number): number | undefined {
    return valueAt(share, this.#listed.sum(now));
  }
}

function valueAt(share: number, sum: Uint32Array): number | undefined {
  let total = 0;
  for (let bucket = 0; bucket < buckets; bucket++) total += sum[bucket]!;
  if (total === 0) return undefined;
  let left = Math.max(1, Math.ceil(total * share));
  let bucket = 0;
  for (; bucket < buckets - 1; bucket++) {
    left -= sum[bucket]!;
    if (left <= 0) break;
  }
  return minValue * Math.exp((bucket + 0.5) * ratio);
}
