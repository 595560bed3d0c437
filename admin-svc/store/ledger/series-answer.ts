/** Answers queries for usage over time. */
import { create } from "@bufbuild/protobuf";
import {
  type SeriesStep,
  type SeriesDimension,
  defaultSeriesValues,
  fromUsageFilter,
  maxSeriesSteps,
  seriesQuery,
} from "@sluice/proto/contract/records/usage-series.js";
import {
  type GetUsageSeriesRequest,
  type GetUsageSeriesResponse,
  GetUsageSeriesResponseSchema,
  type Percentiles,
  PercentilesSchema,
  type UsagePoint,
  UsagePointSchema,
} from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { type Problems, throwProblems, invalid } from "@sluice/proto/lib/validation/problems.js";
import type { Kysely } from "kysely";
import type { Database } from "../database.ts";
import { addSteps, endOfStep, startOfStep } from "../../rules/series-steps.ts";
import type { Percentiles as Latencies } from "./percentiles.ts";
import { type SeriesQuery, usageSeries } from "./record-series.ts";
import type { SeriesRow } from "./series.ts";
import type { SeriesFilter } from "./series-filter.ts";

/** The query, with the field names of the HTTP interface. */
export interface UsageSeriesQuery extends SeriesFilter {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly step?: string | undefined;
  readonly by?: string | undefined;
  readonly limit?: number | undefined;
}

const defaultSteps: Readonly<Record<SeriesStep, number>> = { hour: 24, day: 30, week: 12, month: 12 };

/** @throws Fault INVALID_REQUEST */
export function readSeriesQuery(workspaceId: string, query: UsageSeriesQuery): SeriesQuery {
  throwProblems((problems: Problems) => seriesQuery.check(query, "", problems));
  const { step = "day", by, limit = defaultSeriesValues, from: given, to: end, ...filter } = query;
  const size = step as SeriesStep;
  const units = (by?.split(",") ?? []) as SeriesDimension[];
  if (new Set(units).size < units.length) throw invalid("by", "must be two different dimensions");
  const to = endOfStep(size, end === undefined ? Date.now() + 1 : Date.parse(end));
  const from = given === undefined ? addSteps(size, to, -defaultSteps[size]) : startOfStep(size, Date.parse(given));
  if (from >= to) throw invalid("from", "must be before to");
  if (from < addSteps(size, to, -maxSeriesSteps[size])) {
    throw invalid("from", `must be at most ${maxSeriesSteps[size]} ${size}s before to`);
  }
  return { workspaceId, step: size, by: units, filter, from: new Date(from), to: new Date(to), limit };
}

export async function getUsageSeries(
  database: Kysely<Database>,
  workspaceId: string,
  request: GetUsageSeriesRequest,
): Promise<GetUsageSeriesResponse> {
  const query = readSeriesQuery(workspaceId, {
    from: request.from || undefined,
    to: request.to || undefined,
    step: request.step || undefined,
    by: request.by || undefined,
    limit: request.limit || undefined,
    ...fromUsageFilter(request.filter),
  });
  const rows = await usageSeries(database, query);
  return create(GetUsageSeriesResponseSchema, {
    points: rows.filter(({ at }) => at !== null).map((row) => toPoint(row, query)),
    totals: rows.filter(({ at }) => at === null).map((row) => toPoint(row, query)),
    fromMs: BigInt(query.from.getTime()),
    toMs: BigInt(query.to.getTime()),
  });
}

function toPoint(row: SeriesRow, { by }: SeriesQuery): UsagePoint {
  const point = create(UsagePointSchema, {
    atMs: BigInt(row.at?.getTime() ?? 0),
    value: row.value ?? "",
    name: row.name ?? "",
    isOther: row.value === null,
    requests: BigInt(row.requests),
    failures: BigInt(row.failures),
    attempts: BigInt(row.attempts),
    costUsd: row.cost_usd,
    inputTokens: BigInt(row.input_tokens),
    cachedTokens: BigInt(row.cached_tokens),
    outputTokens: BigInt(row.output_tokens),
    reasoningTokens: BigInt(row.reasoning_tokens),
    ...(by.length > 1 && { second: row.second ?? "", secondName: row.second_name ?? "" }),
  });
  if (row.first) point.firstMs = toPercentiles(row.first);
  if (row.duration) point.durationMs = toPercentiles(row.duration);
  return point;
}

export const toPercentiles = ({ p50, p95 }: Latencies): Percentiles =>
  create(PercentilesSchema, { p50: Math.round(p50), p95: Math.round(p95) });
