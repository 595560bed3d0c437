/** Sums and requests of a view. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import type { ChartSeries } from "../parts/chart.tsx";
import type { TimeRange } from "../parts/time-steps.ts";
import type { View } from "./address.ts";
import { dimensionsOf } from "./dimensions.ts";
import type { Measure, Point, Total } from "./measures.ts";
import { rangeBefore, rangeOf } from "./time.ts";

/** Most values listed apart. The rest is in "All others". */
const maxValues = 100;

export interface ViewSums {
  readonly range: TimeRange;
  readonly points: readonly Point[];
  readonly totals: readonly Total[];
  /** Sums of everything; undefined without a request. */
  readonly whole: Total | undefined;
  /** Points of everything in the period before. */
  readonly pointsBefore: readonly Point[];
  /** Sums that are compared, by value and for everything. */
  readonly compared: { readonly now: ComparedSums; readonly before: ComparedSums };
}

/** Sums of a period for the comparison with another. The running step is left out of both: it is not over yet. */
interface ComparedSums {
  /** Points of complete steps by value. */
  readonly points: ReadonlyMap<string, readonly Point[]>;
  readonly totals: ReadonlyMap<string, Total>;
  /** Whether some values are summed together. */
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

/** A measure of a value, or of everything, in a compared period; null where nothing is known. */
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

/** The period of the view, up to now. */
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

/** Number of values with a colour of their own. */
const maxSeries = 5;

interface Drawing {
  readonly series: readonly ChartSeries[];
  /** Sums of everything in the period before; undefined where they do not add up. */
  readonly previous: readonly number[] | undefined;
}

/** @param nameOf the words for a value */
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

/** Sums from the beginning up to each step. */
export function cumulated(values: readonly (number | null)[]): number[] {
  let sum = 0;
  return values.map((value) => (sum += value ?? 0));
}
