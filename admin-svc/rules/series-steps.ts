/** Computes the steps of a time series in UTC, in milliseconds since 1970. A week begins on Monday. */
import type { SeriesStep } from "@sluice/proto/contract/records/usage-series.js";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const stepMs = { hour: hourMs, day: dayMs, week: 7 * dayMs };
/** Milliseconds from 1970 to its first Monday: 1970 began on a Thursday. */
const firstMonday = 4 * dayMs;

export function startOfStep(step: SeriesStep, time: number): number {
  if (step === "month") {
    const date = new Date(time);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  }
  const shift = step === "week" ? firstMonday : 0;
  return Math.floor((time - shift) / stepMs[step]) * stepMs[step] + shift;
}

/** End of the step containing a time; a time at which a step begins is returned unchanged. */
export function endOfStep(step: SeriesStep, time: number): number {
  const start = startOfStep(step, time);
  return start === time ? time : addSteps(step, start, 1);
}

/** @param start epoch milliseconds at which a step begins */
export function addSteps(step: SeriesStep, start: number, count: number): number {
  if (step !== "month") return start + count * stepMs[step];
  const date = new Date(start);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count);
}
