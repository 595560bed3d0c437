/** The command `usage` with its verbs series, change and health. */
import { create } from "@bufbuild/protobuf";
import { toHealthJson } from "@sluice/proto/contract/records/usage-health.js";
import { toChangeJson } from "@sluice/proto/contract/records/usage-change.js";
import {
  type UsageFilterWords,
  seriesSteps,
  seriesUnits,
  toSeriesJson,
  toUsageFilter,
} from "@sluice/proto/contract/records/usage-series.js";
import {
  GetUsageChangeRequestSchema,
  GetUsageHealthRequestSchema,
  GetUsageSeriesRequestSchema,
} from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { type Command, UsageError, escapeUnprintable, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { Kysely } from "kysely";
import type { Database } from "../store/database.ts";
import { getUsageHealth } from "../store/ledger/health.ts";
import { getUsageSeries } from "../store/ledger/series-answer.ts";
import { getUsageChange } from "../store/ledger/usage-change.ts";
import { formatUsd } from "./key-record.ts";
import { findKeyHash, keyHelp } from "./key-reference.ts";
import { type AdminTerminal, throwAsUsageError, jsonOption, textOption, parseTimeOption } from "./terminal.ts";

const filterOptions = {
  key: textOption,
  model: textOption,
  provider: textOption,
  user: textOption,
  status: textOption,
  error: textOption,
  guardrail: textOption,
  door: textOption,
  operation: textOption,
  task: textOption,
  session: textOption,
  tags: textOption,
} as const;
const filterNames = Object.keys(filterOptions) as (keyof typeof filterOptions)[];
const filterUsage =
  "[--key KEY] [--model M] [--provider P] [--user U] [--status N] [--error WORD] [--guardrail ID] [--door D] [--operation O] [--task T] [--session S] [--tags TAGS]";
const filterHelp = [
  "N is an HTTP status, or a class such as 5xx; WORD is an error_type or a provider_error.",
  "TAGS are pairs such as team=search,env=prod: requests with all of them.",
  "TIME is a time with its zone or a day in UTC, for example 2026-11-21.",
  keyHelp,
];

/**
 * Usage filters from the command line; the key is not resolved yet: its hash, the beginning of its hash, or its name.
 */
function readFilters(values: UsageFilterWords): UsageFilterWords {
  return Object.fromEntries(filterNames.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])));
}

async function filterMessage(database: Kysely<Database>, workspaceId: string, { key, ...others }: UsageFilterWords) {
  const hash = key === undefined ? undefined : await findKeyHash(database, workspaceId, key);
  return toUsageFilter({ ...others, key: hash });
}

export const series: Command<AdminTerminal> = {
  usage: `[--step hour|day|week|month] [--by DIMENSION[,DIMENSION]] ${filterUsage} [--from TIME] [--to TIME] [--limit N] [--json]`,
  summary: "Sums requests, failures, cost, tokens and latencies over time, also of refused requests.",
  details: [
    `DIMENSION is ${seriesUnits.join(", ")} or tag:NAME; everything is summed together without it.`,
    "Without --from it is the last 30 days, the last day by the hour, and the last 12 weeks or months by these.",
    "--limit is the number of values or pairs that are listed apart, by cost; 20 without it.",
    "FIRST and TIME are p50 / p95 in milliseconds, at most 9 % off.",
    ...filterHelp,
  ],
  async run(args, { database, author, print }) {
    const { asJson, filter, ...query } = readSeriesOptions(args);
    const { workspaceId } = await author();
    const fields = { ...query, filter: await filterMessage(await database(), workspaceId, filter) };
    const request = create(GetUsageSeriesRequestSchema, fields);
    const answer = toSeriesJson(
      await throwAsUsageError(async () => getUsageSeries(await database(), workspaceId, request)),
    );
    for (const line of asJson ? [JSON.stringify(answer)] : seriesLines(answer, query)) print(line);
  },
};

export const change: Command<AdminTerminal> = {
  usage: `${filterUsage} [--from TIME] [--to TIME] [--json]`,
  summary: "Compares the cost of a period with the one before, and names the keys and models that changed it.",
  details: [
    "Without --from it is today and the six days before it, compared with the same days of the week before.",
    "VOLUME comes from the number of requests, TOKENS from the tokens of a request, and PRICE from the cost of a token.",
    ...filterHelp,
  ],
  async run(args, { database, author, print }) {
    const { asJson, filter, ...times } = readChangeOptions(args);
    const { workspaceId } = await author();
    const fields = { ...times, filter: await filterMessage(await database(), workspaceId, filter) };
    const request = create(GetUsageChangeRequestSchema, fields);
    const answer = toChangeJson(
      await throwAsUsageError(async () => getUsageChange(await database(), workspaceId, request)),
    );
    for (const line of asJson ? [JSON.stringify(answer)] : changeLines(answer)) print(line);
  },
};

export const health: Command<AdminTerminal> = {
  usage: "[--from TIME] [--to TIME] [--json]",
  summary: "Shows how many calls each model of each provider answered, and why others failed.",
  details: [
    "Without --from it is the last 24 hours; at most 7 days.",
    "TIME is a time with its zone or a day in UTC, for example 2026-11-21. --to is not included.",
    "UPTIME is the percentage of answered calls among those that were answered or failed; FALLBACKS are failures after which the request went on.",
    "FIRST and TIME are p50 / p95 in milliseconds, at most 9 % off.",
  ],
  async run(args, { database, author, print }) {
    const { asJson, ...times } = readHealthOptions(args);
    const { workspaceId } = await author();
    const request = create(GetUsageHealthRequestSchema, times);
    const answer = toHealthJson(
      await throwAsUsageError(async () => getUsageHealth(await database(), workspaceId, request)),
    );
    for (const line of asJson ? [JSON.stringify(answer)] : healthLines(answer)) print(line);
  },
};

/** @throws UsageError for a wrong option */
export function readHealthOptions(args: string[]) {
  const { values } = readArguments(args, { from: textOption, to: textOption, ...jsonOption });
  return { ...readTimes(values), asJson: values.json === true };
}

/** @param answer of `GET /usage/health` */
export function healthLines(answer: JsonObject): string[] {
  const cells = (answer["data"] as readonly JsonObject[]).map((called) => [
    String(called["provider"]),
    (called["model"] ?? "-") as string,
    called["uptime"] === null ? "-" : `${(Math.floor(Number(called["uptime"]) * 10) / 10).toFixed(1)} %`,
    ...["calls", "failures", "fallbacks"].map((name) => String(called[name])),
    percentilesOf(called, "first_token_ms"),
    percentilesOf(called, "duration_ms"),
    (called["errors"] as readonly JsonObject[])
      .map(({ error, calls }) => `${String(error)} ${String(calls)}`)
      .join(", "),
  ]);
  const titles = ["PROVIDER", "MODEL", "UPTIME", "CALLS", "FAILURES", "FALLBACKS", "FIRST", "TIME", "ERRORS"];
  return table(titles, cells);
}

/** @throws UsageError for a wrong option */
export function readSeriesOptions(args: string[]) {
  const { values } = readArguments(args, {
    ...filterOptions,
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
  return {
    step,
    by,
    ...readTimes(values),
    limit: Number(limit),
    filter: readFilters(values),
    asJson: values.json === true,
  };
}

/** @throws UsageError for a wrong option */
export function readChangeOptions(args: string[]) {
  const { values } = readArguments(args, { ...filterOptions, from: textOption, to: textOption, ...jsonOption });
  return { ...readTimes(values), filter: readFilters(values), asJson: values.json === true };
}

const readTimes = ({ from, to }: { readonly from?: string | undefined; readonly to?: string | undefined }) => ({
  from: parseTimeOption("--from", from) ?? "",
  to: parseTimeOption("--to", to) ?? "",
});

/** @param answer of `GET /usage/series` */
export function seriesLines(
  answer: JsonObject,
  { step, by }: { readonly step: string; readonly by: string },
): string[] {
  const units = by === "" ? [] : by.split(",");
  const figures = ["USD", "REQUESTS", "FAILURES", "ATTEMPTS", "INPUT TOKENS", "OUTPUT TOKENS", "FIRST", "TIME"];
  const points = [answer["data"], answer["totals"]].flatMap((list) => list as readonly JsonObject[]);
  return table(
    ["AT", ...units.map((unit) => unit.toUpperCase()), ...figures],
    points.map((point) => [
      typeof point["at"] === "string" ? point["at"].slice(0, step === "hour" ? 16 : 10) : "total",
      ...units.map((_, place) => nameOf(point, place === 0 ? "value" : "second", place === 0 ? "name" : "second_name")),
      formatUsd(String(point["cost_usd"])),
      ...["requests", "failures", "attempts", "input_tokens", "output_tokens"].map((name) => String(point[name])),
      percentilesOf(point, "first_token_ms"),
      percentilesOf(point, "duration_ms"),
    ]),
  );
}

const nameOf = (point: JsonObject, value: string, name: string): string =>
  point["is_other"] === true
    ? "(others)"
    : escapeUnprintable(((point[name] ?? point[value] ?? "-") as string).slice(0, 40));

const percentilesOf = (point: JsonObject, name: string): string =>
  point[`${name}_p50`] === null ? "-" : `${String(point[`${name}_p50`])} / ${String(point[`${name}_p95`])}`;

/** @param answer of `GET /usage/change` */
export function changeLines(answer: JsonObject): string[] {
  const cells = (answer["parts"] as readonly JsonObject[]).map((part) => [
    nameOf(part, "key", "key_name"),
    nameOf(part, "model", "model"),
    ...["before", "after"].map((side) => formatUsd(String((part[side] as JsonObject)["cost_usd"]))),
    ...["difference_usd", "volume_usd", "tokens_usd", "price_usd"].map((name) => formatUsd(String(part[name]))),
    ...["before", "after"].map((side) => String((part[side] as JsonObject)["requests"])),
  ]);
  const titles = [
    "KEY",
    "MODEL",
    "USD BEFORE",
    "USD",
    "DIFFERENCE",
    "VOLUME",
    "TOKENS",
    "PRICE",
    "REQUESTS BEFORE",
    "REQUESTS",
  ];
  return [String(answer["summary"]), ...(cells.length === 0 ? [] : table(titles, cells))];
}
