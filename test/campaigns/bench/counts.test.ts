/** Promises, allocated bytes and surviving bytes of a warm request and a warm event stay below their limits, in the real processes with all features on. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type CountsByService, countedServices } from "./counts/counted-installation.ts";
import { type LimitedLoad, limitedLoads } from "./counts/limits.ts";
import { CountBench, type LoadCounts } from "./counts/measure.ts";

/** A busy machine takes ten times as long. */
const timeoutMs = 300_000;

/** Counts before limits are held to be exceeded. */
const maxTries = 3;

let bench: CountBench;

beforeAll(async () => {
  bench = await CountBench.open({ embeddedPostgres: false });
}, timeoutMs);
afterAll(() => bench.stop());

/** The services above their limits, with the counts. */
function findExceeded({ promises, bytes, survivors, units }: LoadCounts, limits: LimitedLoad["limits"]): string[] {
  return countedServices.flatMap((service) => {
    const kilobytesOf = (counts: CountsByService) => counts[service].amount / units / 1_000;
    const [made, kilobytes, surviving] = [promises[service].amount / units, kilobytesOf(bytes), kilobytesOf(survivors)];
    // An event may make no promise at all.
    expect(kilobytes).toBeGreaterThan(0);
    const limit = limits[service];
    if (made <= limit.promises && kilobytes <= limit.kilobytes && surviving <= limit.survivors) return [];
    const counts = [
      `${made.toFixed(2)} promises (limit ${limit.promises})`,
      `${kilobytes.toFixed(2)} KB (limit ${limit.kilobytes})`,
      `${surviving.toFixed(2)} KB surviving (limit ${limit.survivors})`,
    ];
    return `${service}: ${counts.join(", ")}`;
  });
}

test.each(limitedLoads)(
  "a warm $load.title keeps its number of promises, bytes and survivors",
  async ({ load, limits }) => {
    let exceeded: string[] = [];
    // What follows the clock adds to the count of a delayed machine, and nothing makes a count too small.
    for (let tries = 1; tries === 1 || (exceeded.length > 0 && tries <= maxTries); tries++)
      exceeded = findExceeded(await bench.count(load, 0), limits);
    expect(exceeded).toEqual([]);
  },
  timeoutMs,
);
