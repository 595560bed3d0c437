/** Percentiles of the measurements of the last five minutes or half an hour, to within 7 %, in buckets whose bounds grow by 15 %. */
import { RollingCounts } from "./rolling-counts.ts";

const ratio = Math.log(1.15);
/** Lower bound of the first bucket: a millisecond, when seconds are measured. The last bucket then begins at half a day. */
const minValue = 0.001;
const buckets = 128;
const slots = 10;
/** Routing goes by the last five minutes. */
const recentSlotMs = 30_000;
/** Lists show half an hour. */
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

  /** The value below which this share (0 to 1) of the measurements of five minutes lies; undefined without measurements. */
  at(share: number, now: number): number | undefined {
    return valueAt(share, this.#recent.sum(now));
  }

  /** The same over half an hour. */
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
