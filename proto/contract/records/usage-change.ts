/** Comparison of usage with the preceding period: the query, the answer, and the conversion of a message to JSON. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  GetUsageChangeResponse,
  UsageAmounts,
  UsageChangePart,
} from "../../gen/sluice/admin/v1/usage_service_pb.ts";
import { instant } from "../../lib/time/instant.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { array, boolean, described, integer, named, nullable, object, string } from "../../lib/validation/shape.ts";
import { exactDollarsShape } from "./generations.ts";
import { requestTime, time } from "./record-shapes.ts";
import { usageFilters } from "./usage-series.ts";

export const maxChangeParts = 20;

/** Query of the comparison. The same rules apply over gRPC: see store/ledger/usage-change.ts of admin-svc. */
export const changeQuery = object(
  {
    from: described(requestTime, "Beginning; midnight in UTC six days before the day of `to` when absent."),
    to: described(requestTime, "End; now when absent. At most 400 days after `from`."),
    ...usageFilters,
  },
  { strict: true },
);

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const amounts = {
  cost_usd: exactDollarsShape,
  requests: described(count, "Requests."),
  input_tokens: described(count, "Tokens of prompts, cached ones among them."),
  output_tokens: described(count, "Tokens of answers, reasoning among them."),
};
const amountsShape = named("UsageAmounts", object(amounts, { required: Object.keys(amounts) }));
const difference = (what: string) =>
  described(
    string({ pattern: { form: /^-?\d+(\.\d+)?$/, message: "must be a decimal" } }),
    `${what}, in USD, exact to the picodollar; negative when the cost fell.`,
  );

const part = {
  key: described(nullable(string()), "Hash of the key; null for the sum of all others."),
  key_name: described(nullable(string()), "Name of the key; null when the key is gone, and for the sum of all others."),
  model: described(
    nullable(string()),
    "The model that was called last; null without a call, and for the sum of all others.",
  ),
  is_other: described(boolean, "Whether this is the sum of all that are not listed apart."),
  before: described(amountsShape, "Usage in the period before."),
  after: described(amountsShape, "Usage in the period."),
  difference_usd: difference("Difference in cost: the sum of the next three"),
  volume_usd: difference(
    "From the number of requests, at the former cost of a request; all of it where one period has none",
  ),
  tokens_usd: difference("From the tokens of a request, at the former cost of a token"),
  price_usd: difference("From the cost of a token"),
};

const answer = {
  from: described(time, "First moment of the period."),
  to: described(time, "Moment at which it ends."),
  before_from: described(
    time,
    "First moment of the period before: earlier by the length of the period, in whole days where that begins at midnight in UTC.",
  ),
  before_to: described(time, "Moment at which the period before ends: a running day counts as long as it has lasted."),
  before: described(amountsShape, "Usage in the period before."),
  after: described(amountsShape, "Usage in the period."),
  parts: described(
    array(named("UsageChangePart", object(part, { required: Object.keys(part) }))),
    `Keys and models with a difference in cost: the ${maxChangeParts} with the largest, and the sum of all others, if there are any.`,
  ),
  summary: described(string(), "The difference and its main cause as a sentence in English."),
};

export const changeAnswer = named("UsageChange", object(answer, { required: Object.keys(answer) }));

const at = (ms: bigint): string => instant(timestampFromMs(Number(ms)));

export const toChangeJson = (change: GetUsageChangeResponse): JsonObject => ({
  from: at(change.fromMs),
  to: at(change.toMs),
  before_from: at(change.beforeFromMs),
  before_to: at(change.beforeToMs),
  before: shownAmounts(change.before),
  after: shownAmounts(change.after),
  parts: change.parts.map(shownPart),
  summary: change.summary,
});

const shownAmounts = (given: UsageAmounts | undefined): JsonObject => ({
  cost_usd: given?.costUsd ?? "0",
  requests: Number(given?.requests ?? 0),
  input_tokens: Number(given?.inputTokens ?? 0),
  output_tokens: Number(given?.outputTokens ?? 0),
});

const shownPart = (each: UsageChangePart): JsonObject => ({
  key: each.keyHash || null,
  key_name: each.keyName || null,
  model: each.model || null,
  is_other: each.isOther,
  before: shownAmounts(each.before),
  after: shownAmounts(each.after),
  difference_usd: each.differenceUsd,
  volume_usd: each.volumeUsd,
  tokens_usd: each.tokensUsd,
  price_usd: each.priceUsd,
});
