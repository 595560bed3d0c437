/** Shape of `provider`: preferences for the endpoints of a request. */
import {
  type Shape,
  array,
  boolean,
  described,
  named,
  nullable,
  number,
  object,
  string,
  stringOr,
  word,
} from "../../lib/validation/shape.ts";

const slugs = array(string({ min: 1 }));

/** A price in USD, as a decimal string or number. */
const price: Shape = {
  check: (value, path, problems) => {
    if (typeof value === "number" && value >= 0) return;
    if (typeof value === "string" && /^\d+(\.\d+)?$/.test(value)) return;
    problems.add(path, 'must be a number of at least 0, or a decimal string such as "0.25"');
  },
  schema: () => ({
    anyOf: [
      { type: "number", minimum: 0 },
      { type: "string", pattern: String.raw`^\d+(\.\d+)?$` },
    ],
  }),
};

const cutoff = number({ min: 0 });
const percentiles = object(
  {
    p50: nullable(cutoff),
    p75: nullable(cutoff),
    p90: nullable(cutoff),
    p99: nullable(cutoff),
  },
  { strict: true },
);

/** A limit by percentile; a plain number limits the median. */
const cutoffs: Shape = {
  check: (value, path, problems) => {
    if (typeof value === "number") cutoff.check(value, path, problems);
    else if (typeof value === "object" && value !== null) percentiles.check(value, path, problems);
    else problems.add(path, "must be a number or an object of percentiles");
  },
  schema: (components) => ({ anyOf: [cutoff.schema(components), percentiles.schema(components)] }),
};

const sort = word("price", "throughput", "latency", "exacto");

const preferences: Readonly<Record<string, Shape>> = {
  order: described(
    slugs,
    "Tried first, in this order: ids of providers, which stand for their endpoints of the default tier, or `id/tier` or `id/quantization`.",
  ),
  only: described(slugs, "No others are asked. An empty list is unset."),
  ignore: described(slugs, "Never asked."),
  allow_fallbacks: described(
    boolean,
    "Whether others may follow the first, or those of `order` where it is given; true when absent.",
  ),
  require_parameters: described(
    boolean,
    "Whether endpoints are left out that do not know every setting of the request.",
  ),
  data_collection: described(
    word("allow", "deny"),
    "deny: only endpoints are asked that neither keep anything nor train on it.",
  ),
  zdr: described(boolean, "Whether only endpoints are asked that keep nothing."),
  enforce_distillable_text: described(
    boolean,
    "Whether only endpoints are asked whose output may be used to train other models.",
  ),
  quantizations: described(
    array(word("int4", "int8", "fp4", "mxfp4", "nvfp4", "fp6", "fp8", "mxfp8", "fp16", "bf16", "fp32", "unknown")),
    "Only endpoints of these are asked.",
  ),
  sort: described(
    stringOr(
      sort,
      object({ by: nullable(sort), partition: nullable(word("model", "none")) }, { strict: true }),
      "must be a string or an object",
    ),
    "The best is asked first, and load is not shared; partition none sorts across all models. Without effect beside `order`.",
  ),
  max_price: described(
    object(
      {
        prompt: nullable(price),
        completion: nullable(price),
        request: nullable(price),
        image: nullable(price),
        audio: nullable(price),
      },
      // A misspelled limit would limit nothing, so unknown names are refused.
      { strict: true },
    ),
    "USD per million tokens of prompt and completion, per unit otherwise. Endpoints without a price are not asked either.",
  ),
  preferred_min_throughput: described(cutoffs, "Tokens per second; endpoints below it are asked last."),
  preferred_max_latency: described(cutoffs, "Seconds until the first token; endpoints above it are asked last."),
};

export const providerPreferences = named(
  "ProviderPreferences",
  object(Object.fromEntries(Object.entries(preferences).map(([name, shape]) => [name, nullable(shape)])), {
    strict: true,
    description: "Preferences for where the request is served; null is unset.",
  }),
);
