/** usage series. */
import { create } from "@bufbuild/protobuf";
import { seriesSteps, seriesUnits, toSeriesJson } from "@sluice/proto/contract/records/usage-series.js";
import {
  GetUsageSeriesRequestSchema,
  type Percentiles,
  type UsagePoint,
} from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { type Command, UsageError, escapeUnprintable, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import { getUsageSeries } from "../store/ledger/series-answer.ts";
import { formatUsd } from "./key-record.ts";
import { type AdminTerminal, throwAsUsageError, jsonOption, textOption, parseTimeOption } from "./terminal.ts";

export const series: Command<AdminTerminal> = {
  usage: "[--step hour|day] [--by DIMENSION] [--from TIME] [--to TIME] [--limit N] [--json]",
  summary: "Sums requests, failures, cost, tokens and latencies by hour or day, also of refused requests.",
  details: [
    `DIMENSION is ${seriesUnits.join(", ")}; everything is summed together without it.`,
    "TIME is a time with its zone or a day in UTC, for example 2026-11-21; the last 30 days without it, or the last day by the hour.",
    "--limit is the number of values that are listed apart, by cost; 20 without it.",
    "FIRST and TIME are p50 / p95 in milliseconds, at most 9 % off.",
  ],
  async run(args, { database, author, print }) {
    const { asJson, ...query } = readSeriesOptions(args);
    const request = create(GetUsageSeriesRequestSchema, query);
    const { workspaceId } = await author();
    const answer = await throwAsUsageError(async () => getUsageSeries(await database(), workspaceId, request));
    if (asJson) return print(JSON.stringify(toSeriesJson(answer)));
    const points = [...answer.points, ...answer.totals];
    for (const line of table(
      seriesTitles(query.by),
      points.map((point) => cellsOf(point, query.step, query.by)),
    ))
      print(line);
  },
};

/** @throws UsageError */
export function readSeriesOptions(args: string[]) {
  const { values } = readArguments(args, {
    step: textOption,
    by: textOption,
    from: textOption,
    to: textOption,
    limit: textOption,
    ...jsonOption,
  });
  const { step = "day", by = "", limit = "0" } = values;
  if (!(seriesSteps as readonly string[]).includes(step)) throw new UsageError("--step: hour, day, week or month");
  if (!/^\d{1,3}$/.test(limit)) throw new UsageError("--limit: a number from 1 to 100");
  const from = parseTimeOption("--from", values.from) ?? "";
  const to = parseTimeOption("--to", values.to) ?? "";
  return { step, by, from, to, limit: Number(limit), asJson: values.json === true };
}

export const seriesTitles = (by: string): string[] => [
  "AT",
  ...(by === "" ? [] : [by.toUpperCase()]),
  "USD",
  "REQUESTS",
  "FAILURES",
  "ATTEMPTS",
  "INPUT TOKENS",
  "OUTPUT TOKENS",
  "FIRST",
  "TIME",
];

const cellsOf = (point: UsagePoint, step: string, by: string): string[] => [
  point.atMs === 0n ? "total" : new Date(Number(point.atMs)).toISOString().slice(0, step === "day" ? 10 : 16),
  ...(by === "" ? [] : [nameOf(point)]),
  formatUsd(point.costUsd),
  String(point.requests),
  String(point.failures),
  String(point.attempts),
  String(point.inputTokens),
  String(point.outputTokens),
  percentilesOf(point.firstMs),
  percentilesOf(point.durationMs),
];

const nameOf = ({ isOther, name, value }: UsagePoint): string =>
  isOther ? "(others)" : escapeUnprintable(name || value.slice(0, 40) || "-");

const percentilesOf = (percentiles: Percentiles | undefined): string =>
  percentiles ? `${percentiles.p50} / ${percentiles.p95}` : "-";
