/** A short soak. A long one: npm run soak. */
import { describe, expect, test } from "@jest/globals";
import { fixedSeed } from "../../support/runner/fixed-seed.ts";
import { countsIn, linesOf } from "./print.ts";
import type { ProcessReading, ReadingsByService } from "../../support/readings.ts";
import { soak } from "./soak.ts";
import { findHeapGrowth, findUnreleased, slopeOf } from "./verdict.ts";

test("after some seconds of complete, broken and abandoned streams, no memory or connection is still held", async () => {
  const report = await soak({
    seed: fixedSeed,
    warmUpMs: 3_000,
    forMs: 6_000,
    settleMs: 5_000,
    everyMs: 3_000,
    streamsPerSecond: 15,
    faults: 0.3,
  });
  process.stdout.write([`soak: seed ${fixedSeed}`, ...linesOf(report), ...report.heapComplaints, ""].join("\n"));
  expect(report.complaints).toEqual([]);
  for (const outcome of ["completed", "failed", "left"]) expect(countsIn(report.outcomes)).toContain(` ${outcome}`);
}, 900_000);

describe("the verdict of the soak campaign", () => {
  const reading: ProcessReading = {
    heapKib: 20_000,
    externalKib: 5_000,
    residentKib: 90_000,
    descriptors: 40,
    timers: 10,
    handles: 20,
  };
  const readings = (gateway: Partial<ProcessReading>): ReadingsByService => ({
    gateway: { ...reading, ...gateway },
    "inference-svc": reading,
    "admin-svc": reading,
  });
  const looksOf = (heapKib: (minutes: number) => number) =>
    Array.from({ length: 20 }, (_, minutes) => ({ minutes, readings: readings({ heapKib: heapKib(minutes) }) }));
  const flat = looksOf((minutes) => 20_000 + (minutes % 2) * 4_000);

  test("names resources that did not return to their level", () => {
    expect(findUnreleased(readings({}), readings({ descriptors: 42, timers: 11 }))).toEqual([]);
    expect(findUnreleased(readings({}), readings({ descriptors: 60, timers: 30, handles: 50 }))).toEqual([
      "gateway: descriptors went from 40 to 60",
      "gateway: handles went from 20 to 50",
      "gateway: timers went from 10 to 30",
    ]);
  });

  test("distinguishes a growing heap from a fluctuating one", () => {
    const growing = looksOf((minutes) => 20_000 + (minutes % 2) * 400 + minutes * 200);
    expect(
      slopeOf(
        looksOf((minutes) => minutes * 3),
        "gateway",
      ),
    ).toEqual({ kibPerMinute: 3, error: 0 });
    expect(findHeapGrowth(readings({}), readings({}), flat)).toEqual([]);
    expect(findHeapGrowth(readings({}), readings({}), growing)).toEqual([
      expect.stringMatching(/^gateway: the heap grows by 20\d\.\d KiB a minute$/),
    ]);
    expect(findHeapGrowth(readings({}), readings({ heapKib: 40_000 }), flat)).toEqual([
      "gateway: heapKib went from 20000 to 40000",
    ]);
  });
});
