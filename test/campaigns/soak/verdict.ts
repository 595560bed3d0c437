/**
 * Decides whether everything was released, from the resources at the end compared with those after the warm-up, and from the course of the heap in
 * between.
 */
import { type Service, services } from "../../support/installation.ts";
import type { ProcessReading, ReadingsByService } from "../../support/readings.ts";

/** Figures read under load. */
export interface LoadReading {
  readonly minutes: number;
  readonly readings: ReadingsByService;
}

/** Number of descriptors that may remain, such as a pool's connection or a records file before its close. */
const spareDescriptors = 4;
const spareHandles = 4;
const spareTimers = 2;
/** KiB of heap that may remain: bounded tables and caches that the warm-up did not fill, and compiled code. */
const spareHeapKib = 8 * 1_024;
/** Permitted growth of the heap in KiB per minute: at 100 streams a second, some 11 bytes per stream. */
const steepestKibPerMinute = 64;
/** Minimum number of readings for a slope; with fewer, chance decides. */
const looksForSlope = 10;

export interface Slope {
  readonly kibPerMinute: number;
  /** Standard error of the slope; NaN for less than three readings. */
  readonly error: number;
}

/** Growth of the heap after collections, by least squares. */
export function slopeOf(looks: readonly LoadReading[], service: Service): Slope {
  const points = looks.map(({ minutes, readings }) => [minutes, readings[service].heapKib] as const);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = mean(points.map(([x]) => x));
  const level = mean(points.map(([, y]) => y));
  const spread = points.reduce((sum, [x]) => sum + (x - middle) ** 2, 0);
  const kibPerMinute = points.reduce((sum, [x, y]) => sum + (x - middle) * (y - level), 0) / spread;
  const missed = points.reduce((sum, [x, y]) => sum + (y - level - kibPerMinute * (x - middle)) ** 2, 0);
  return { kibPerMinute, error: points.length < 3 ? Number.NaN : Math.sqrt(missed / (points.length - 2) / spread) };
}

/** Complaints about unreleased resources other than the heap. */
export const findUnreleased = (before: ReadingsByService, after: ReadingsByService): string[] =>
  services.flatMap((service) => [
    ...above(service, "descriptors", spareDescriptors, before, after),
    ...above(service, "handles", spareHandles, before, after),
    ...above(service, "timers", spareTimers, before, after),
  ]);

export const findHeapGrowth = (
  before: ReadingsByService,
  after: ReadingsByService,
  looks: readonly LoadReading[],
): string[] =>
  services.flatMap((service) => {
    const { kibPerMinute, error } = slopeOf(looks, service);
    // Twice the error is subtracted, so chance does not explain the slope.
    const steep = looks.length >= looksForSlope && kibPerMinute - 2 * error > steepestKibPerMinute;
    return [
      ...above(service, "heapKib", spareHeapKib, before, after),
      ...(steep ? [`${service}: the heap grows by ${kibPerMinute.toFixed(1)} KiB a minute`] : []),
    ];
  });

function above(
  service: Service,
  what: keyof ProcessReading,
  spare: number,
  before: ReadingsByService,
  after: ReadingsByService,
): string[] {
  const [first, last] = [before[service][what], after[service][what]];
  return last > first + spare ? [`${service}: ${what} went from ${first} to ${last}`] : [];
}
