/** Usage over time: the query, the answer, and the conversion of a message to JSON. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  GetUsageSeriesResponse,
  Percentiles,
  UsageFilter,
  UsagePoint,
} from "../../gen/sluice/admin/v1/usage_service_pb.ts";
import { operationWords } from "../../lib/ledger/call-operation.ts";
import { instant } from "../../lib/time/instant.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import {
  array,
  boolean,
  described,
  integer,
  named,
  nullable,
  number,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import { tagsQuery } from "./tags.ts";
import { maxTagName, parseTagNames } from "../../lib/turns/tags.ts";
import { requestTime, time } from "./record-shapes.ts";
import { statusOrClass, toTurnFiguresJson, turnDoors, turnFigures } from "./generations.ts";

export const seriesSteps = ["hour", "day", "week", "month"] as const;
export type SeriesStep = (typeof seriesSteps)[number];

/** Dimensions by which usage is summed, other than tags. */
export const seriesUnits = [
  "key",
  "model",
  "provider",
  "user",
  "status",
  "guardrail",
  "door",
  "operation",
  "task",
  "error",
] as const;
export type SeriesUnit = (typeof seriesUnits)[number];
/** A dimension of a series: one of the units, or a tag, whose name is percent-encoded as in a list of tags. */
export type SeriesDimension = SeriesUnit | `tag:${string}`;

const tagPrefix = "tag:";

/** Name of the tag in a dimension; undefined for other dimensions. */
export const tagOfDimension = (dimension: SeriesDimension): string | undefined =>
  dimension.startsWith(tagPrefix) ? parseTagNames(dimension.slice(tagPrefix.length), "by")[0] : undefined;

export const defaultSeriesValues = 20;
/** Maximum length of a series, in steps. */
export const maxSeriesSteps: Readonly<Record<SeriesStep, number>> = { hour: 7 * 24, day: 400, week: 104, month: 24 };

const text = string({ min: 1, max: 512, identifier: true });

/**
 * Filters on the turns and calls in a sum. The same rules apply over gRPC: see store/ledger/series-filter.ts of
 * admin-svc.
 */
export const usageFilters = {
  key: described(text, "Usage of this key, by its hash."),
  model: described(text, "Usage of this model: the one that was called."),
  provider: described(text, "Usage of this provider, by its id."),
  user: described(text, "Usage of this end user."),
  status: described(
    statusOrClass,
    "Requests with this HTTP status, such as `502`, or with one of a class, such as `5xx`.",
  ),
  error: described(text, "Requests that failed so: an `error_type` or a `provider_error`."),
  guardrail: described(text, "Requests that this guardrail blocked, or in which it found something last."),
  door: described(word(...turnDoors), "Usage that was asked for in this format."),
  operation: described(word(...operationWords), "Usage of this kind."),
  task: described(text, "Usage of this kind of task, where routers learn from it."),
  session: described(text, "Usage of this session."),
  tags: tagsQuery,
};
export type UsageFilterWords = { readonly [Name in keyof typeof usageFilters]?: string | undefined };

/** Converts filters to the fields of their message. */
export const toUsageFilter = ({ key, guardrail, session, ...others }: UsageFilterWords) => {
  const given = { ...others, keyHash: key, guardrailId: guardrail, sessionId: session };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
};

/** Converts a message to filters; an empty text means no filter. */
export const fromUsageFilter = (filter: UsageFilter | undefined): UsageFilterWords => ({
  key: filter?.keyHash || undefined,
  model: filter?.model || undefined,
  provider: filter?.provider || undefined,
  user: filter?.user || undefined,
  status: filter?.status || undefined,
  error: filter?.error || undefined,
  guardrail: filter?.guardrailId || undefined,
  door: filter?.door || undefined,
  operation: filter?.operation || undefined,
  task: filter?.task || undefined,
  session: filter?.sessionId || undefined,
  tags: filter?.tags || undefined,
});

const unit = `(?:${seriesUnits.join("|")}|tag:[^,]+)`;
const units = string({
  max: 2 * (tagPrefix.length + 12 * maxTagName) + 1,
  pattern: {
    form: new RegExp(`^${unit}(?:,${unit})?$`),
    message: `must be one or two of ${seriesUnits.join(", ")} and tag:NAME`,
  },
});

/** Query of a series. The same rules apply over gRPC: see store/ledger/series-answer.ts of admin-svc. */
export const seriesQuery = object(
  {
    from: described(
      requestTime,
      "Beginning, rounded down to that of its step in UTC; 30 days ago when absent, a day ago by the hour, and 12 weeks or months ago by these.",
    ),
    to: described(requestTime, "End, rounded up to that of its step in UTC; now when absent."),
    step: described(
      word(...seriesSteps),
      `\`day\` when absent; weeks begin on Monday. At most ${maxSeriesSteps.day} days, ${maxSeriesSteps.hour / 24} days by the hour, ${maxSeriesSteps.week} weeks or ${maxSeriesSteps.month} months.`,
    ),
    by: described(
      units,
      `Sums each value apart, or each pair of values of two dimensions, as in \`key,model\`; everything together when absent. Dimensions are ${seriesUnits.join(", ")}, and \`tag:\` with the name of a tag, such as \`tag:team\`.`,
    ),
    limit: described(
      integer({ min: 1, max: 100 }),
      `How many values or pairs to list apart, those with the highest cost; ${defaultSeriesValues} when absent. The others are summed together.`,
    ),
    ...usageFilters,
  },
  { strict: true },
);

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const latency = (what: string) =>
  described(
    nullable(number({ min: 0 })),
    `Milliseconds, ${what}, of turns that were answered; null without one, and for other values. At most 9 % off.`,
  );

const sums = {
  value: described(
    nullable(string()),
    "Value of the dimension: hash of a key, slug of a model, id of a provider or guardrail, HTTP status, word, value of a tag; null for usage that has none, for other values, and without `by`.",
  ),
  name: described(nullable(string()), "Name of the key, by `key`."),
  second: described(nullable(string()), "Value of the second dimension; absent with one."),
  second_name: described(nullable(string()), "Name of the key, where that is the second dimension; absent with one."),
  is_other: described(boolean, "Whether these are the sums of all values that are not listed apart."),
  requests: described(count, "Turns."),
  failures: described(count, "Turns that failed, were refused or lost."),
  attempts: described(count, "Calls to providers and services."),
  ...turnFigures,
  first_token_ms_p50: latency("the median until the first event"),
  first_token_ms_p95: latency("the 95th percentile until the first event"),
  duration_ms_p50: latency("the median until the end"),
  duration_ms_p95: latency("the 95th percentile until the end"),
};

const point = { at: described(time, "Beginning of the step, in UTC."), ...sums };

const isAlwaysThere = (name: string): boolean => !name.startsWith("second");

export const seriesAnswer = named(
  "UsageSeries",
  object(
    {
      from: described(time, "First moment that is summed."),
      to: described(time, "Moment up to which is summed."),
      data: described(
        array(named("UsagePoint", object(point, { required: Object.keys(point).filter(isAlwaysThere) }))),
        "In the order of time, and by cost over all of it. Steps without usage are left out.",
      ),
      totals: described(
        array(named("UsageTotal", object(sums, { required: Object.keys(sums).filter(isAlwaysThere) }))),
        "Sums of the whole time for each value, by cost.",
      ),
    },
    { required: ["from", "to", "data", "totals"] },
  ),
);

const at = (ms: bigint): string => instant(timestampFromMs(Number(ms)));

export const toSeriesJson = ({ points, totals, fromMs, toMs }: GetUsageSeriesResponse): JsonObject => ({
  from: at(fromMs),
  to: at(toMs),
  data: points.map((each) => ({ at: at(each.atMs), ...shownSums(each) })),
  totals: totals.map(shownSums),
});

const shownSums = (each: UsagePoint): JsonObject => ({
  value: each.value === "" ? null : each.value,
  name: each.name === "" ? null : each.name,
  ...(each.second !== undefined && { second: each.second || null, second_name: each.secondName || null }),
  is_other: each.isOther,
  requests: Number(each.requests),
  failures: Number(each.failures),
  attempts: Number(each.attempts),
  ...toTurnFiguresJson(each),
  ...shownPercentiles("first_token_ms", each.firstMs),
  ...shownPercentiles("duration_ms", each.durationMs),
});

/** Fields for the two percentiles; null when there are none. */
export const shownPercentiles = (name: string, percentiles: Percentiles | undefined): JsonObject => ({
  [`${name}_p50`]: percentiles?.p50 ?? null,
  [`${name}_p95`]: percentiles?.p95 ?? null,
});
