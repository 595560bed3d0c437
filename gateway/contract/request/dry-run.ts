/** The receipt of POST /responses/dry-run: how a request would be served, without running it. */
import {
  anyValue,
  array,
  boolean,
  constant,
  described,
  integer,
  named,
  nullable,
  number,
  object,
  string,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { decisions } from "@sluice/proto/lib/policy/guardrail-words.js";
import { errorMetadata } from "@sluice/proto/contract/operations/errors.js";
import { loss, serviceMetadataShape } from "@sluice/proto/contract/response/service-metadata.js";

const dollars = nullable(number({ min: 0 }));
const tokens = integer({ min: 0 });

const estimate = object(
  {
    input_tokens: described(tokens, "Tokens of the input, by its size."),
    max_output_tokens: described(
      nullable(tokens),
      "`max_output_tokens` of the request, else the most that the model gives; null when neither says.",
    ),
    input_cost: described(dollars, "Cost of the input without any cache; null if no price is known."),
    max_output_cost: described(dollars, "Cost of an answer of the maximum length."),
    max_cost: described(dollars, "Both together. Tools that a provider runs come on top."),
    held: described(
      dollars,
      "What budgets of the key would hold for the call until it ends: the most that it can cost, counted by bytes.",
    ),
  },
  {
    required: ["input_tokens", "max_output_tokens", "input_cost", "max_output_cost", "max_cost", "held"],
    description: "What the endpoint would charge, in US dollars.",
  },
);

const candidate = object(
  {
    model: described(string(), "Slug of the model."),
    provider: described(string(), "Name of the provider."),
    service_tier: described(word("default", "priority", "flex", "scale", "ultrafast"), "Tier of the endpoint."),
    quantization: described(string(), "Precision of its weights; `unknown` when that is not declared."),
    not_sent: described(array(loss), "Settings that would not be sent because the format of the endpoint lacks them."),
    estimate,
  },
  { required: ["model", "provider", "service_tier", "quantization", "not_sent", "estimate"] },
);

const decision = object(
  {
    guardrail_id: described(string(), "The guardrail."),
    guardrail_scope: described(string(), "What it is given to: api-key, workspace or account."),
    decision: described(word(...Object.keys(decisions)), "The gravest of what it did; allowed when it did nothing."),
  },
  { required: ["guardrail_id", "guardrail_scope", "decision"] },
);

const error = object(
  {
    code: described(constant(403), "The HTTP status."),
    message: described(string(), "What went wrong, for a person."),
    type: described(string(), "The kind of failure in OpenAI's words."),
    param: described(string(), "The first field that is wrong."),
    metadata: described(errorMetadata, "What is known beyond the message."),
  },
  { required: ["code", "message"] },
);

export const dryRunReceipt = named(
  "DryRun",
  object(
    {
      object: described(word("response.dry_run", "embeddings.dry_run"), "The kind of request that was looked at."),
      blocked: described(boolean, "Whether a guardrail would refuse the request."),
      error: described(nullable(error), "The error with which it would be refused; null when it would not."),
      guardrails: described(array(decision), "Guardrails that looked at the request."),
      candidates: described(array(candidate), "Endpoints in the order in which they would be asked."),
      service_metadata: serviceMetadataShape,
      upstream_body: described(
        anyValue,
        "The body that the first candidate would be sent, with `debug.echo_upstream_body`; absent when the request is blocked.",
      ),
    },
    {
      required: ["object", "blocked", "error", "guardrails", "candidates", "service_metadata"],
      description: "What would become of a request.",
    },
  ),
);
