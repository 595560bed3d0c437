/** Health of providers: the query, the answer, and the conversion of a message to JSON. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { CalledModel, GetUsageHealthResponse } from "../../gen/sluice/admin/v1/usage_service_pb.ts";
import { instant } from "../../lib/time/instant.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { array, described, integer, named, nullable, number, object, string } from "../../lib/validation/shape.ts";
import { requestTime, time } from "./record-shapes.ts";
import { shownPercentiles } from "./usage-series.ts";

export const maxHealthDays = 7;

/** Query of the health report. The same rules apply over gRPC: see store/ledger/health.ts of admin-svc. */
export const healthQuery = object(
  {
    from: described(requestTime, "Calls that began then or later; those of 24 hours before `to` when absent."),
    to: described(
      requestTime,
      `Calls that began earlier, at most ${maxHealthDays} days after \`from\`; now when absent.`,
    ),
  },
  { strict: true },
);

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const latency = (what: string) =>
  described(
    nullable(number({ min: 0 })),
    `Milliseconds, ${what}, of answered calls; null without one. At most 9 % off.`,
  );

const calledModel = {
  provider: described(string(), "Id of the provider."),
  model: described(nullable(string()), "Slug of the model; null for a service without models."),
  calls: described(count, "Calls that keys of the workspace pay for, also those left by their clients."),
  answered: described(count, "Calls that were answered."),
  failures: described(
    count,
    "Calls that failed for the provider. A refusal of the request itself (400, 413 and 422) is none, nor is a call stopped by Sluice.",
  ),
  uptime: described(
    nullable(number({ min: 0, max: 100 })),
    "Percentage of answered calls among those that were answered or failed; null without any.",
  ),
  fallbacks: described(
    count,
    "Failures after which the same request called a provider again, the same or another one.",
  ),
  errors: described(
    array(
      object(
        {
          error: described(
            string({ min: 1 }),
            "As `provider_error` of the request, where the call ended it; otherwise the status of the record, such as `status_502`.",
          ),
          calls: described(count, "Failures of this kind."),
        },
        { required: ["error", "calls"] },
      ),
    ),
    "Failures by kind, the most frequent first.",
  ),
  first_token_ms_p50: latency("the median until the first event"),
  first_token_ms_p95: latency("the 95th percentile until the first event"),
  duration_ms_p50: latency("the median until the end"),
  duration_ms_p95: latency("the 95th percentile until the end"),
};

export const healthAnswer = named(
  "UsageHealth",
  object(
    {
      from: described(time, "First moment of the period."),
      to: described(time, "Moment at which the period ends."),
      data: described(
        array(named("CalledModel", object(calledModel, { required: Object.keys(calledModel) }))),
        "The most failures first, then the most calls.",
      ),
    },
    { required: ["from", "to", "data"] },
  ),
);

const at = (ms: bigint): string => instant(timestampFromMs(Number(ms)));

export const toHealthJson = ({ models, fromMs, toMs }: GetUsageHealthResponse): JsonObject => ({
  from: at(fromMs),
  to: at(toMs),
  data: models.map(toCalledModelJson),
});

function toCalledModelJson(called: CalledModel): JsonObject {
  const [answered, failures] = [Number(called.answered), Number(called.failures)];
  const known = answered + failures;
  return {
    provider: called.provider,
    model: called.model || null,
    calls: Number(called.calls),
    answered,
    failures,
    uptime: known === 0 ? null : (100 * answered) / known,
    fallbacks: Number(called.fallbacks),
    errors: called.errors.map(({ error, calls }) => ({ error, calls: Number(calls) })),
    ...shownPercentiles("first_token_ms", called.firstMs),
    ...shownPercentiles("duration_ms", called.durationMs),
  };
}
