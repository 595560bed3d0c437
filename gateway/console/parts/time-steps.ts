/** Steps of time in UTC: hours, days, weeks and months. */

export const steps = ["hour", "day", "week", "month"] as const;
export type TimeStep = (typeof steps)[number];

const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export interface TimeRange {
  /** Epoch milliseconds of the first step. */
  readonly from: number;
  /** Epoch milliseconds of the end of the last step. */
  readonly to: number;
  readonly step: TimeStep;
  /** Beginning of each step. */
  readonly starts: readonly number[];
}

/** The beginning of the step that holds a moment. Weeks begin on Monday. */
export function startOfStep(ms: number, step: TimeStep): number {
  if (step === "hour") return Math.floor(ms / hourMs) * hourMs;
  const day = Math.floor(ms / dayMs) * dayMs;
  const date = new Date(day);
  if (step === "week") return day - ((date.getUTCDay() + 6) % 7) * dayMs;
  return step === "day" ? day : Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

export function nextStep(ms: number, step: TimeStep, by = 1): number {
  if (step !== "month") return ms + by * { hour: hourMs, day: dayMs, week: 7 * dayMs }[step];
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + by);
}

const date = { day: "numeric", month: "short", timeZone: "UTC" } as const;
const dayFormat = new Intl.DateTimeFormat("en-GB", date);
const yearDayFormat = new Intl.DateTimeFormat("en-GB", { ...date, year: "numeric" });
const monthFormat = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric", timeZone: "UTC" });
const hourFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC" });

/** A step in words, such as "22 Nov 2026, 14:00 UTC". */
export function stepName(ms: number, step: TimeStep): string {
  if (step === "month") return monthFormat.format(ms);
  const day = yearDayFormat.format(ms);
  if (step === "week") return `Week of ${day}`;
  return step === "day" ? day : `${day}, ${hourFormat.format(ms)} UTC`;
}

/** The label of a step at the time axis. */
export function tickName(ms: number, step: TimeStep): string {
  if (step === "month") return monthFormat.format(ms);
  return step === "hour" && ms % dayMs !== 0 ? hourFormat.format(ms) : dayFormat.format(ms);
}
