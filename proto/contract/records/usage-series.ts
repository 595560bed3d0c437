/** Sums of usage over time: the query, the answer, and the conversion of a message to its JSON. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { GetUsageSeriesResponse, Percentiles, UsagePoint } from "../../gen/sluice/admin/v1/usage_service_pb.ts";
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
import { requestTime, time } from "./record-shapes.ts";
import { toTurnFiguresJson, turnFigures } from "./generations.ts";

export const seriesSteps = ["hour", "day"] as const;
export type SeriesStep = (typeof seriesSteps)[number];

/** Dimensions of usage. */
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
] as const;
export type SeriesUnit = (typeof seriesUnits)[number];

export const defaultSeriesValues = 20;
/** Maximum period of a series, in steps. */
export const maxSeriesSteps: Readonly<Record<SeriesStep, number>> = { hour: 7 * 24, day: 400 };

/** The same rules hold over gRPC: see store/ledger/series-answer.ts of admin-svc. */
export const seriesQuery = object(
  {
    from: described(
      requestTime,
      "Beginning, rounded down to its hour or day in UTC; 30 days ago when absent, a day ago by the hour.",
    ),
    to: described(requestTime, "End, rounded up to the end of its hour or day in UTC; now when absent."),
    step: described(
      word(...seriesSteps),
      `\`day\` when absent. At most ${maxSeriesSteps.day} days, or ${maxSeriesSteps.hour / 24} days by the hour.`,
    ),
    by: described(word(...seriesUnits), "Sums each value apart; everything together when absent."),
    limit: described(
      integer({ min: 1, max: 100 }),
      `How many values to list apart, those with the highest cost; ${defaultSeriesValues} when absent. The others are summed together.`,
    ),
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
    "Value of the dimension: hash of a key, slug of a model, id of a provider or guardrail, HTTP status, word; null for usage that has none, for other values, and without `by`.",
  ),
  name: described(nullable(string()), "Name of the key, by `key`."),
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

const point = { at: described(time, "Beginning of the hour or day, in UTC."), ...sums };

export const seriesAnswer = named(
  "UsageSeries",
  object(
    {
      from: described(time, "First moment that is summed."),
      to: described(time, "Moment up to which is summed."),
      data: described(
        array(named("UsagePoint", object(point, { required: Object.keys(point) }))),
        "In the order of time, and by cost over all of it. Hours and days without usage are left out.",
      ),
      totals: described(
        array(named("UsageTotal", object(sums, { required: Object.keys(sums) }))),
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
  is_other: each.isOther,
  requests: Number(each.requests),
  failures: Number(each.failures),
  attempts: Number(each.attempts),
  ...toTurnFiguresJson(each),
  ...shownPercentiles("first_token_ms", each.firstMs),
  ...shownPercentiles("duration_ms", each.durationMs),
});

const shownPercentiles = (name: string, percentiles: Percentiles | undefined): JsonObject => ({
  [`${name}_p50`]: percentiles?.p50 ?? null,
  [`${name}_p95`]: percentiles?.p95 ?? null,
});
