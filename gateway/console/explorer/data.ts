/** Sums and requests of a view. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import type { ChartSeries } from "../parts/chart.tsx";
import type { TimeRange } from "../parts/time-steps.ts";
import type { View } from "./address.ts";
import { dimensionsOf } from "./dimensions.ts";
import type { Measure, Point, Total } from "./measures.ts";
import { rangeBefore, rangeOf } from "./time.ts";

/** Maximum number of values with their own sums. All further values are summed as "All others". */
const maxValues = 100;

export interface ViewSums {
  readonly range: TimeRange;
  readonly points: readonly Point[];
  readonly totals: readonly Total[];
  /** Sum of all requests; undefined if there are none. */
  readonly whole: Total | undefined;
  /** Sums of each step of the previous period, over all requests. */
  readonly pointsBefore: readonly Point[];
  /** Sums of this period and of the previous one, for comparison: by value, and over all requests under `wholeKey`. */
  readonly compared: { readonly now: ComparedSums; readonly before: ComparedSums };
}

/** Sums of a period for a comparison. The step that is still running counts in neither of the two periods. */
interface ComparedSums {
  /** Sums of each complete step, by value. */
  readonly points: ReadonlyMap<string, readonly Point[]>;
  readonly totals: ReadonlyMap<string, Total>;
  /** Whether some values have a common sum only. */
  readonly hasOthers: boolean;
}

export const wholeKey = "whole";

type Series = Schemas["UsageSeries"];

function comparedSums(sums: Series, whole: Series, { starts }: TimeRange, complete: number): ComparedSums {
  const end = starts[complete] ?? Number.POSITIVE_INFINITY;
  const isComplete = ({ at }: Point) => Date.parse(at) < end;
  const points = Map.groupBy(sums.data.filter(isComplete), valueKey);
  const totals = new Map(sums.totals.map((total) => [valueKey(total), total]));
  points.set(wholeKey, whole.data.filter(isComplete));
  if (whole.totals[0]) totals.set(wholeKey, whole.totals[0]);
  return { points, totals, hasOthers: sums.totals.some(({ is_other: other }) => other) };
}

/** A measure in a compared period, of one value or of all requests; null if unknown. */
export function comparedValue({ points, totals }: ComparedSums, key: string, measure: Measure): number | null {
  if (measure.adds) return (points.get(key) ?? []).reduce((sum, point) => sum + (measure.of(point) ?? 0), 0);
  const total = totals.get(key);
  return total === undefined ? null : measure.of(total);
}

const instant = (ms: number): string => new Date(ms).toISOString();
const given = (text: string): string | undefined => (text === "" ? undefined : text);

function filtersOf(view: View) {
  const { key, model, provider, status, error, user, session, guardrail, task, tags } = view;
  return {
    key: given(key),
    model: given(model),
    provider: given(provider),
    status: given(status),
    error: given(error),
    user: given(user),
    session: given(session),
    guardrail: given(guardrail),
    door: given(view.door) as Schemas["ListedGeneration"]["door"] | undefined,
    operation: given(view.operation) as Schemas["ListedGeneration"]["operation"] | undefined,
    task: given(task),
    tags: given(tags),
  };
}

export async function loadSums(view: View): Promise<ViewSums> {
  const now = Date.now();
  const range = rangeOf(view, now);
  const earlier = rangeBefore(range);
  const by = dimensionsOf(view).join(",");
  const series = ({ from, to, step }: TimeRange, grouped: string | undefined) => {
    const query = {
      from: instant(from),
      to: instant(Math.min(to, now)),
      step,
      by: grouped,
      limit: maxValues,
      ...filtersOf(view),
    };
    return unwrapAnswer(api.GET("/usage/series", { params: { query } }));
  };
  const [sums, whole, sumsBefore, wholeBefore] = await Promise.all([
    series(range, by),
    series(range, undefined),
    series(earlier, by),
    series(earlier, undefined),
  ]);
  const isRunning = range.starts.length > 1 && range.to > now;
  const complete = range.starts.length - (isRunning ? 1 : 0);
  return {
    range,
    points: sums.data,
    totals: sums.totals,
    whole: whole.totals[0],
    pointsBefore: wholeBefore.data,
    compared: {
      now: comparedSums(sums, whole, range, complete),
      before: comparedSums(sumsBefore, wholeBefore, earlier, complete),
    },
  };
}

/** The query of a view's period, up to now at most. */
export function changeQuery(view: View) {
  const now = Date.now();
  const { from, to } = rangeOf(view, now);
  return { from: instant(from), to: instant(Math.min(to, now)), ...filtersOf(view) };
}

export const requestsPerPage = 50;

/** Requests of the view, latest first. */
export async function loadRequests(view: View, limit = requestsPerPage) {
  const { from, to } = rangeOf(view, Date.now());
  const { guardrail, session, ...filters } = filtersOf(view);
  const query = {
    ...filters,
    guardrail_id: guardrail,
    session_id: session,
    fallback_from: given(view.fallback),
    q: given(view.q),
    from: instant(from),
    to: instant(to),
    cursor: given(view.cursor),
    limit,
  };
  return await unwrapAnswer(api.GET("/generations", { params: { query } }));
}

type Value = Pick<Total, "value" | "is_other"> & { readonly second?: string | null };

/** Identifies the value or the pair of values of sums. */
export const valueKey = ({ value, second, is_other: other }: Value): string =>
  other ? "other" : JSON.stringify([value, second ?? null]);

/** Number of values drawn as a series of their own, each in its colour. */
const maxSeries = 5;

interface Drawing {
  readonly series: readonly ChartSeries[];
  /** Sums of the previous period over all requests; undefined for a measure whose values do not add up. */
  readonly previous: readonly number[] | undefined;
}

/** The series of a chart. @param nameOf gives the label of a value */
export function drawingOf(
  { range, points, totals, pointsBefore }: ViewSums,
  measure: Measure,
  nameOf: (total: Total) => string,
): Drawing {
  const rank = (total: Total) => (measure.adds ? (measure.of(total) ?? 0) : total.requests);
  const ranked = totals.filter((total) => !total.is_other && rank(total) > 0).toSorted((a, b) => rank(b) - rank(a));
  const shown = ranked.slice(0, maxSeries);
  const places = new Map(shown.map((total, n) => [valueKey(total), n]));
  const columns = Map.groupBy(points, (point) => places.get(valueKey(point)) ?? maxSeries);
  const series = shown.map((total, n) => ({
    name: nameOf(total),
    values: valuesOf(range, columns.get(n) ?? [], measure),
  }));
  const rest = columns.get(maxSeries) ?? [];
  const others = { name: "All others", values: valuesOf(range, rest, measure) };
  const hasOthers = measure.adds && others.values.some((value) => (value ?? 0) > 0);
  return {
    series: [...series, ...(hasOthers ? [others] : [])],
    previous: measure.adds ? valuesOf(rangeBefore(range), pointsBefore, measure).map((value) => value ?? 0) : undefined,
  };
}

function valuesOf({ starts }: TimeRange, points: readonly Point[], measure: Measure): (number | null)[] {
  const places = new Map(starts.map((start, n) => [start, n]));
  const values: (number | null)[] = starts.map(() => (measure.adds ? 0 : null));
  for (const point of points) {
    const place = places.get(Date.parse(point.at));
    if (place === undefined) continue;
    const value = measure.of(point);
    values[place] = measure.adds ? (values[place] ?? 0) + (value ?? 0) : value;
  }
  return values;
}

/** Running totals: the sum of all values up to each step. */
export function cumulated(values: readonly (number | null)[]): number[] {
  let sum = 0;
  return values.map((value) => (sum += value ?? 0));
}
