/** Promises and allocated bytes of a warm request and a warm event stay below their limits, in the real processes with all features on. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { countedServices } from "./counts/counted-installation.ts";
import { limitedLoads } from "./counts/limits.ts";
import { CountBench } from "./counts/measure.ts";

/** A busy machine takes ten times as long. */
const timeoutMs = 300_000;

let bench: CountBench;

beforeAll(async () => {
  bench = await CountBench.open({ embeddedPostgres: false });
}, timeoutMs);
afterAll(() => bench.stop());

test.each(limitedLoads)(
  "promises and bytes of a warm $load.title",
  async ({ load, limits }) => {
    const { promises, bytes, units } = await bench.count(load, 0);
    const exceeded = countedServices.flatMap((service) => {
      const [made, kilobytes] = [promises[service].amount / units, bytes[service].amount / units / 1_000];
      // An event may make no promise at all.
      expect(kilobytes).toBeGreaterThan(0);
      const limit = limits[service];
      if (made <= limit.promises && kilobytes <= limit.kilobytes) return [];
      return `${service}: ${made.toFixed(2)} promises (limit ${limit.promises}), ${kilobytes.toFixed(2)} KB (limit ${limit.kilobytes})`;
    });
    expect(exceeded).toEqual([]);
  },
  timeoutMs,
);
