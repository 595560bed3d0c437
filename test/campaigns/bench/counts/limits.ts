/**
 * Upper limits of promises, allocated bytes and surviving bytes for a warm request and a warm event, in each process. The limits are a little above
 * the latest counts; a change with smaller counts lowers its limit to match. All loads but the first run one request at a time without shared
 * batches, so their counts are higher than under load. A request's counts do not depend on how busy the machine is, except that deliveries of usage
 * records follow the clock: on a machine ten times as slow, they add up to 4 promises and 3 KB to a request.
 */
import type { CountedService } from "./counted-installation.ts";
import { type CountedLoad, countedLoads } from "./measure.ts";

export interface CountLimits {
  readonly promises: number;
  readonly kilobytes: number;
  /** KB that survive a young collection. A finished request that survives makes each collection five times as long. */
  readonly survivors: number;
}

export interface LimitedLoad {
  readonly load: CountedLoad;
  readonly limits: Readonly<Record<CountedService, CountLimits>>;
}

export const limitedLoads: readonly LimitedLoad[] = [
  {
    // Only concurrent requests show whether finished ones survive: the tables of a Set or Map keep their neighbours alive. A request that waits for
    // its fair share creates two more promises, and on a busy machine each of the 32 may wait.
    load: { ...countedLoads.U, title: "1 KB request, 32 at a time", warmUp: 2_000, count: 1_000 },
    limits: {
      gateway: { promises: 3.5, kilobytes: 27, survivors: 2 },
      "inference-svc": { promises: 8, kilobytes: 53, survivors: 2 },
    },
  },
  {
    load: { ...countedLoads.alone, title: "1 KB request", warmUp: 1_500, count: 500 },
    limits: {
      gateway: { promises: 1.5, kilobytes: 30, survivors: 2 },
      "inference-svc": { promises: 9, kilobytes: 58, survivors: 2.2 },
    },
  },
  {
    load: {
      ...countedLoads["guarded-alone"],
      title: "1 KB request under 50 output patterns",
      warmUp: 1_500,
      count: 500,
    },
    limits: {
      gateway: { promises: 1.5, kilobytes: 33, survivors: 2 },
      "inference-svc": { promises: 9, kilobytes: 68, survivors: 2.6 },
    },
  },
  {
    load: { ...countedLoads.event, title: "event of a stream", warmUp: 6_000, count: 3_000 },
    limits: {
      gateway: { promises: 0.2, kilobytes: 3.8, survivors: 0.2 },
      "inference-svc": { promises: 0.2, kilobytes: 4.2, survivors: 0.2 },
    },
  },
  {
    load: { ...countedLoads["guarded-event"], title: "event under 50 output patterns", warmUp: 6_000, count: 3_000 },
    limits: {
      gateway: { promises: 0.2, kilobytes: 3.8, survivors: 0.2 },
      "inference-svc": { promises: 0.2, kilobytes: 5, survivors: 0.2 },
    },
  },
];
