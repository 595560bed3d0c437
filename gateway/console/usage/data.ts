/** Usage over time, compared with the period before. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import type { Bar } from "../parts/bars.tsx";

type Point = Schemas["UsagePoint"];
export type Total = Schemas["UsageTotal"];

export const units = [
  ["model", "Model"],
  ["key", "Key"],
  ["provider", "Provider"],
  ["user", "End user"],
  ["status", "Status"],
  ["guardrail", "Guardrail"],
  ["door", "Format"],
] as const;
export type Unit = (typeof units)[number][0];

export const measures = [
  ["cost", "Cost"],
  ["requests", "Requests"],
  ["failures", "Failures"],
  ["tokens", "Tokens"],
] as const;
export type Measure = (typeof measures)[number][0];

type Sums = Pick<Total, "cost_usd" | "requests" | "failures" | "input_tokens" | "output_tokens">;

export function measureValue(sums: Sums, measure: Measure): number {
  if (measure === "cost") return Number(sums.cost_usd);
  return measure === "tokens" ? sums.input_tokens + sums.output_tokens : sums[measure];
}

const dayMs = 86_400_000;

export interface Usage {
  readonly days: readonly string[];
  readonly points: readonly Point[];
  readonly totals: readonly Total[];
  /** Totals of the same number of days before, by value. */
  readonly before: ReadonlyMap<string, Total>;
}

/** Maximum number of values per series. The rest is in "All others". */
const maxValues = 100;

/** @param length days up to today, in UTC */
export async function loadUsage(length: number, by: Unit): Promise<Usage> {
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  const from = today - (length - 1) * dayMs;
  const series = (begin: number, end: number) => {
    const query = { from: instant(begin), to: instant(end), step: "day", by, limit: maxValues } as const;
    return unwrapAnswer(api.GET("/usage/series", { params: { query } }));
  };
  const [now, before] = await Promise.all([series(from, today + dayMs), series(from - length * dayMs, from)]);
  return {
    days: Array.from({ length }, (_, n) => instant(from + n * dayMs).slice(0, 10)),
    points: now.data,
    totals: now.totals,
    before: new Map(before.totals.map((total) => [seriesKey(total), total])),
  };
}

const instant = (ms: number): string => new Date(ms).toISOString();

type Value = Pick<Total, "value" | "is_other">;

export const seriesKey = ({ value, is_other: other }: Value): string => (other ? "other" : `=${value ?? ""}`);

export function seriesName(total: Pick<Total, "value" | "is_other" | "name">): string {
  if (total.is_other) return "All others";
  return total.name ?? total.value ?? "None";
}

/** Number of values with a separate colour; the rest shares the last. */
const maxSeries = 5;

export function toBars({ days, points, totals }: Usage, measure: Measure): { series: string[]; bars: Bar[] } {
  const largest = totals.toSorted((a, b) => measureValue(b, measure) - measureValue(a, measure));
  const shown = largest.filter((total) => !total.is_other).slice(0, maxSeries);
  const places = new Map(shown.map((total, n) => [seriesKey(total), n]));
  const hasRest = totals.length > shown.length;
  const byDay = Map.groupBy(points, ({ at }) => at.slice(0, 10));
  const bars = days.map((name) => {
    const values = Array.from({ length: shown.length + (hasRest ? 1 : 0) }, () => 0);
    for (const point of byDay.get(name) ?? []) {
      const place = places.get(seriesKey(point)) ?? shown.length;
      values[place] = (values[place] ?? 0) + measureValue(point, measure);
    }
    return { name, values };
  });
  return { series: [...shown.map(seriesName), ...(hasRest ? ["All others"] : [])], bars };
}
