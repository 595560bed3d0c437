/** Promises, allocated bytes and surviving bytes of a warm request and a warm event stay below their limits, in the real processes with all features on. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type CountedService, countedServices } from "./counts/counted-installation.ts";
import { type CountLimits, type LimitedLoad, limitedLoads } from "./counts/limits.ts";
import { CountBench, type LoadCounts } from "./counts/measure.ts";

/** Time limit of a count; a busy machine takes ten times as long as an idle one. */
const timeoutMs = 600_000;

/** Number of counts above a limit before the limit is reported as exceeded. */
const maxTries = 5;

let bench: CountBench;

beforeAll(async () => {
  bench = await CountBench.open({ embeddedPostgres: false });
}, timeoutMs);
afterAll(() => bench.stop());

type Amounts = Readonly<Record<CountedService, CountLimits>>;

/** Amounts for each request or event. */
function amountsOf({ promises, bytes, survivors, units }: LoadCounts): Amounts {
  const amounts = (service: CountedService): CountLimits => ({
    promises: promises[service].amount / units,
    kilobytes: bytes[service].amount / units / 1_000,
    survivors: survivors[service].amount / units / 1_000,
  });
  return { gateway: amounts("gateway"), "inference-svc": amounts("inference-svc") };
}

const leastOf = (left: CountLimits, right: CountLimits): CountLimits => ({
  promises: Math.min(left.promises, right.promises),
  kilobytes: Math.min(left.kilobytes, right.kilobytes),
  survivors: Math.min(left.survivors, right.survivors),
});

const leastOfBoth = (left: Amounts, right: Amounts): Amounts => ({
  gateway: leastOf(left.gateway, right.gateway),
  "inference-svc": leastOf(left["inference-svc"], right["inference-svc"]),
});

/** The services above their limits, with the amounts. */
function findExceeded(amounts: Amounts, limits: LimitedLoad["limits"]): string[] {
  return countedServices.flatMap((service) => {
    const [{ promises, kilobytes, survivors }, limit] = [amounts[service], limits[service]];
    // A warm event may create no promise at all.
    expect(kilobytes).toBeGreaterThan(0);
    if (promises <= limit.promises && kilobytes <= limit.kilobytes && survivors <= limit.survivors) return [];
    const counts = [
      `${promises.toFixed(2)} promises (limit ${limit.promises})`,
      `${kilobytes.toFixed(2)} KB (limit ${limit.kilobytes})`,
      `${survivors.toFixed(2)} KB surviving (limit ${limit.survivors})`,
    ];
    return `${service}: ${counts.join(", ")}`;
  });
}

test.each(limitedLoads)(
  "a warm $load.title stays within its limits of promises, bytes and surviving objects",
  async ({ load, limits }) => {
    let amounts = amountsOf(await bench.count(load, 0));
    // Work that follows the clock adds to the amounts on a busy machine, and no amount can come out too small.
    for (let tries = 1; tries < maxTries && findExceeded(amounts, limits).length > 0; tries++)
      amounts = leastOfBoth(amounts, amountsOf(await bench.count(load, 0)));
    expect(findExceeded(amounts, limits)).toEqual([]);
  },
  timeoutMs,
);
