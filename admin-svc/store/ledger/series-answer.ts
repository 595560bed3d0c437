/** Sums usage over time. */
import { create } from "@bufbuild/protobuf";
import {
  type SeriesStep,
  type SeriesUnit,
  defaultSeriesValues,
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
import type { Percentiles as Latencies } from "./percentiles.ts";
import { type SeriesQuery, type SeriesRow, usageSeries } from "./series.ts";

/** The query in the words of the contract. */
export interface UsageSeriesQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly step?: string | undefined;
  readonly by?: string | undefined;
  readonly limit?: number | undefined;
}

const stepMs: Readonly<Record<SeriesStep, number>> = { hour: 3_600_000, day: 86_400_000 };
const defaultSteps: Readonly<Record<SeriesStep, number>> = { hour: 24, day: 30 };

/** @throws Fault INVALID_REQUEST */
export function readSeriesQuery(workspaceId: string, query: UsageSeriesQuery): SeriesQuery {
  throwProblems((problems: Problems) => seriesQuery.check(query, "", problems));
  const {
    step = "day",
    by,
    limit = defaultSeriesValues,
  } = query as UsageSeriesQuery & {
    readonly step?: SeriesStep;
    readonly by?: SeriesUnit;
  };
  const size = stepMs[step];
  const to = Math.ceil((query.to === undefined ? Date.now() + 1 : Date.parse(query.to)) / size) * size;
  const from =
    query.from === undefined ? to - defaultSteps[step] * size : Math.floor(Date.parse(query.from) / size) * size;
  if (from >= to) throw invalid("from", "must be before to");
  if ((to - from) / size > maxSeriesSteps[step]) {
    throw invalid("from", `must be at most ${maxSeriesSteps[step]} ${step}s before to`);
  }
  return { workspaceId, step, by, from: new Date(from), to: new Date(to), limit };
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
  });
  const rows = await usageSeries(database, query);
  return create(GetUsageSeriesResponseSchema, {
    points: rows.filter(({ at }) => at !== null).map(toPoint),
    totals: rows.filter(({ at }) => at === null).map(toPoint),
    fromMs: BigInt(query.from.getTime()),
    toMs: BigInt(query.to.getTime()),
  });
}

function toPoint(row: SeriesRow): UsagePoint {
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
  });
  if (row.first) point.firstMs = toPercentiles(row.first);
  if (row.duration) point.durationMs = toPercentiles(row.duration);
  return point;
}

const toPercentiles = ({ p50, p95 }: Latencies): Percentiles =>
  create(PercentilesSchema, { p50: Math.round(p50), p95: Math.round(p95) });
