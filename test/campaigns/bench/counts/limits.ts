/**
 * Upper limits of promises and bytes for a warm request and a warm event in each process. The limits stand a little above the latest
 * counts; a change with smaller counts lowers its limit to match. Both loads run one at a time without shared batches, so the
 * counts are higher than under load. A request's counts do not depend on how busy the machine is, but the deliveries of usage
 * records follow the clock: ten times as slow, they add up to 3 promises and 3 KB to a request.
 */
import type { CountedService } from "./counted-installation.ts";
import { type CountedLoad, countedLoads } from "./measure.ts";

export interface CountLimits {
  readonly promises: number;
  readonly kilobytes: number;
}

export interface LimitedLoad {
  readonly load: CountedLoad;
  readonly limits: Readonly<Record<CountedService, CountLimits>>;
}

export const limitedLoads: readonly LimitedLoad[] = [
  {
    load: { ...countedLoads.alone, title: "1 KB request", warmUp: 1_500, count: 500 },
    limits: { gateway: { promises: 1.5, kilobytes: 30 }, "inference-svc": { promises: 8, kilobytes: 58 } },
  },
  {
    load: {
      ...countedLoads["guarded-alone"],
      title: "1 KB request under 50 output patterns",
      warmUp: 1_500,
      count: 500,
    },
    limits: { gateway: { promises: 1.5, kilobytes: 33 }, "inference-svc": { promises: 8, kilobytes: 68 } },
  },
  {
    load: { ...countedLoads.event, title: "event of a stream", warmUp: 6_000, count: 3_000 },
    limits: { gateway: { promises: 0.2, kilobytes: 3.8 }, "inference-svc": { promises: 0.2, kilobytes: 4.2 } },
  },
  {
    load: { ...countedLoads["guarded-event"], title: "event under 50 output patterns", warmUp: 6_000, count: 3_000 },
    limits: { gateway: { promises: 0.2, kilobytes: 3.8 }, "inference-svc": { promises: 0.2, kilobytes: 5 } },
  },
];
