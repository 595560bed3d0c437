/** `service_metadata`: the account of how a request was served or refused. */
import {
  array,
  boolean,
  constant,
  described,
  integer,
  map,
  named,
  nullable,
  number,
  object,
  string,
  word,
} from "../runtime/validation/shape.ts";

const attempt = object(
  {
    provider: described(string(), "Name of the provider."),
    model: described(string(), "Slug of the model."),
    status: described(integer(), "200, or the HTTP status that the failure would have been answered with."),
  },
  { required: ["provider", "model", "status"] },
);

/** Beside `service_metadata`, said by the error of a request that nobody can serve. */
export const exclusions = described(
  map(integer({ min: 0 })),
  "How many endpoints were left out, by the first reason: allowed_models, allowed_providers, data_region, data_policy:zdr, data_policy:training, data_policy:publication, distillable, modality, context_length, quantization, require_parameters, max_price or service_tier.",
);

const endpoint = object(
  {
    model: described(string(), "Slug of the model."),
    provider: described(string(), "Name of the provider."),
    selected: described(boolean, "Whether it served the answer."),
    ejected: described(constant(true), "It fails at the moment, and is asked after those that do not."),
  },
  { required: ["model", "provider", "selected"] },
);

const stageData = object(
  {
    action: described(
      string(),
      "What was done, such as blocked, redacted or flagged; error where something could not be looked at.",
    ),
    mode: described(string(), "audit where this would have been done, and was not."),
    fail_mode: described(string(), "Of an error: closed, the request is refused; open, it is let through."),
    counts: described(map(integer({ min: 0 })), "In how many places each of the rules matched."),
    detected: described(boolean, "Whether something was found."),
    engines: described(array(string()), "What looked for it."),
    patterns: described(array(string()), "Rules that matched, by their label or else their pattern."),
  },
  { description: "What the stage found and did; each kind of stage has fields of its own beside these." },
);

const stage = named(
  "PipelineStage",
  object(
    {
      type: described(
        string(),
        "Kind of the stage: guardrail, plugin, server_tools, response_healing or context_compression.",
      ),
      name: described(string(), "What ran, such as content-filter."),
      summary: described(string(), "Its outcome in one line."),
      guardrail_id: described(string(), "The guardrail that decided."),
      guardrail_scope: described(string(), "What the guardrail is given to: api-key, member, workspace or account."),
      cost_usd: described(nullable(number()), "What the stage cost, in US dollars."),
      data: stageData,
    },
    { required: ["type", "name"], description: "Something that acted on the request or on its answer." },
  ),
);

export const loss = object(
  {
    path: described(string(), "Field of the request."),
    reason: described(string(), "Why the provider was not told."),
  },
  { required: ["path", "reason"] },
);

const params = object(
  {
    policy_generation: described(
      integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      "State of keys and guardrails on which the request was decided.",
    ),
    not_sent: described(array(loss), "What the serving endpoint was not told because its format has no words for it."),
  },
  { description: "Settings that applied to the decision." },
);

export const serviceMetadata = named(
  "ServiceMetadata",
  object(
    {
      attempt: described(
        integer({ min: 0 }),
        "Number of the attempt that served, counted from 1; 0 when no provider was reached.",
      ),
      attempts: described(array(attempt), "All attempts in their order."),
      endpoints: object(
        {
          total: described(integer({ min: 0 }), "How many endpoints could serve the request."),
          available: described(array(endpoint), "These endpoints, in the order in which they are tried."),
          excluded_by: described(
            exclusions,
            "Endpoints that could not, as in `error.metadata.availability`; absent when all could.",
          ),
        },
        { required: ["total", "available"], description: "Endpoints that the request could go to." },
      ),
      generation_time: described(number({ min: 0 }), "Milliseconds from the request to its end."),
      is_byok: described(boolean, "Whether a provider key of the caller paid."),
      params,
      pipeline: described(array(stage), "What acted on the request; stages that did nothing are left out."),
      region: described(nullable(string()), "Where it was served."),
      requested: described(string(), "Slug that the request named."),
      strategy: described(
        word("direct", "auto", "free", "latest", "alias", "fallback", "pareto", "bodybuilder", "fusion"),
        "How the model was chosen.",
      ),
      summary: described(string(), "The same in one line."),
    },
    {
      required: ["attempt", "endpoints", "is_byok", "pipeline", "region", "requested", "strategy", "summary"],
      description: "How the request was routed; present when `X-Service-Metadata: enabled` asked for it.",
    },
  ),
);
