/** The period of a view, in UTC. */
import { type TimeRange, type TimeStep, dayMs, nextStep, startOfStep, steps } from "../parts/time-steps.ts";
import type { View } from "./address.ts";

const hourMs = 3_600_000;

/** Periods that end now, by their names in the address. */
export const presets = [
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["today", "Today"],
  ["yesterday", "Yesterday"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
  ["month", "This month"],
  ["last-month", "Last month"],
  ["90d", "Last 90 days"],
  ["365d", "Last 365 days"],
] as const;
export const defaultPreset = "7d";

/** A time of the address, such as 2026-11-22 or 2026-11-22T05:00, in UTC; undefined for another text. */
export function parseAddressTime(text: string): number | undefined {
  const ms = Date.parse(/T/.test(text) && !/Z$|[+-]\d\d:\d\d$/.test(text) ? `${text}Z` : text);
  return text === "" || Number.isNaN(ms) ? undefined : ms;
}

/** A time in its shortest form for an address, such as 2026-11-22. */
export const toAddressTime = (ms: number): string =>
  new Date(ms).toISOString().replace(/(T00:00)?(:00)?\.000Z$|\.\d+Z$/, "");

function boundsOf({ last, from, to }: View, now: number): { from: number; to: number } {
  const end = parseAddressTime(to) ?? now;
  const begin = parseAddressTime(from);
  if (begin !== undefined) return { from: begin, to: Math.max(begin + 1, end) };
  const today = startOfStep(now, "day");
  const month = startOfStep(now, "month");
  if (last === "today") return { from: today, to: now };
  if (last === "yesterday") return { from: today - dayMs, to: today };
  if (last === "month") return { from: month, to: now };
  if (last === "last-month") return { from: nextStep(month, "month", -1), to: month };
  const [, count, unit] = /^(\d{1,3})([hd])$/.exec(last) ?? [undefined, "7", "d"];
  if (unit === "h") return { from: startOfStep(now, "hour") - (Number(count) - 1) * hourMs, to: now };
  return { from: today - (Math.max(1, Number(count)) - 1) * dayMs, to: now };
}

const mostHours = 7 * 24;

/** The length of a step with which a chart has a readable number of bars. @param length milliseconds */
const stepFor = (length: number): TimeStep => (length <= 2 * dayMs ? "hour" : length <= 92 * dayMs ? "day" : "week");

/** The period of a view. @param now milliseconds since 1970 */
export function rangeOf(view: View, now: number): TimeRange {
  const bounds = boundsOf(view, now);
  const length = bounds.to - bounds.from;
  const chosen = steps.find((step) => step === view.step);
  const step = chosen && (chosen !== "hour" || length <= mostHours * hourMs) ? chosen : stepFor(length);
  const starts: number[] = [];
  for (let at = startOfStep(bounds.from, step); at < bounds.to && starts.length < 500; at = nextStep(at, step)) {
    starts.push(at);
  }
  const from = starts[0] ?? bounds.from;
  return { from, to: nextStep(starts.at(-1) ?? from, step), step, starts };
}

/** The previous period: as many steps, just before this one. */
export function rangeBefore({ from, step, starts }: TimeRange): TimeRange {
  const earlier = starts.map((_, n) => nextStep(from, step, n - starts.length));
  return { from: earlier[0] ?? from, to: from, step, starts: earlier };
}
