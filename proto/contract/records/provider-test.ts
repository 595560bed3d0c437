/** Shapes for POST /providers/{id}/test. */
import { boolean, described, integer, named, nullable, object, string, word } from "../../lib/validation/shape.ts";

export const providerTestRequest = named(
  "ProviderTestRequest",
  object(
    {
      model: described(
        string({ min: 1, max: 256 }),
        "Slug of a model or the provider's own name for it; the cheapest model that it serves here when absent.",
      ),
    },
    { strict: true },
  ),
);

const tokens = integer({ min: 0 });

const fields = {
  ok: described(boolean, "Whether the provider answered."),
  provider: described(string(), "Id of the provider."),
  model: described(string(), "Slug of the model; the provider's own name for one that has no slug here."),
  upstream_model: described(string(), "The provider's name for the model."),
  latency_ms: described(integer({ min: 0 }), "Milliseconds until the end of the answer or the failure."),
  outcome: described(nullable(string()), "Status of the answer, such as `completed`; null for a failure."),
  usage: described(
    nullable(object({ input_tokens: tokens, output_tokens: tokens }, { required: ["input_tokens", "output_tokens"] })),
    "Tokens; null when the provider gave no figures.",
  ),
  cause: described(
    nullable(
      object(
        {
          kind: described(
            word("dns", "connection", "tls", "timeout", "credentials", "refused", "answer"),
            "`refused`: it answered with an error; `answer`: its answer cannot be read; all others: it gave no answer.",
          ),
          status: described(nullable(integer()), "HTTP status of its answer; null when it gave none."),
          message: described(string(), "Explanation with advice."),
        },
        { required: ["kind", "status", "message"] },
      ),
    ),
    "Cause of the failure; null without one.",
  ),
};

export const providerTest = named("ProviderTest", object(fields, { required: Object.keys(fields) }));

export const providerTestAnswer = named("ProviderTestAnswer", object({ data: providerTest }, { required: ["data"] }));
