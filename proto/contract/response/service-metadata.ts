/** `service_metadata`, the receipt: how a request was served or refused. */
import {
  type Shape,
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
} from "../../lib/validation/shape.ts";
import { pluginReceiptFields } from "../plugins/plugins.ts";
import { unansweredKind } from "./provider-error.ts";

const attempt = object(
  {
    provider: described(string(), "Name of the provider."),
    model: described(string(), "Slug of the model."),
    status: described(integer(), "200, or the HTTP status that the failure would have been answered with."),
    error: unansweredKind,
  },
  { required: ["provider", "model", "status"] },
);

/** Reasons for leaving out endpoints, in receipts and in the error of a request without an endpoint. */
export const exclusions = described(
  map(integer({ min: 0 })),
  "How many endpoints were left out, by the first reason: permissions.models, permissions.providers, allowed_models, allowed_providers, data_region, data_policy:zdr, data_policy:training, data_policy:publication, distillable, modality, context_length, quantization, require_parameters, max_price or service_tier.",
);

const endpoint = object(
  {
    model: described(string(), "Slug of the model."),
    provider: described(string(), "Name of the provider."),
    selected: described(boolean, "Whether it served the answer."),
    ejected: described(constant(true), "It fails at the moment, and is asked after those that do not."),
    rests: described(
      word("limited", "refused"),
      "Why no key may be asked with at the moment: too many requests, or keys that are not taken. Others are asked first, whatever the order.",
    ),
  },
  { required: ["model", "provider", "selected"] },
);

const gaveUp = array(string());
const calls = integer({ min: 0 });
/** Details of a stage, depending on its kind. */
const stepsShape: Shape = {
  check: (value, path, problems) => (Array.isArray(value) ? gaveUp : calls).check(value, path, problems),
  schema: (components) => ({ anyOf: [gaveUp.schema(components), calls.schema(components)] }),
};

const stageData = object(
  {
    action: described(
      string(),
      "What was done, such as blocked, redacted or flagged; error where something could not be looked at, not_run in a dry run where others would have to be asked.",
    ),
    mode: described(
      string(),
      "audit where this would have been done, and was not; of a mended answer the format that was asked for; of server_tools sdk, run by the service.",
    ),
    fail_mode: described(string(), "errors: closed, the request is refused; open, it is let through."),
    counts: described(map(integer({ min: 0 })), "In how many places each of the rules matched."),
    detected: described(boolean, "Whether something was found."),
    engines: described(
      array(string()),
      "What looked for it, such as regex, ner:<detector>, classifier:<detector>, judge:<model> or moderation:<model>.",
    ),
    patterns: described(array(string()), "Rules that matched, by their label or else their pattern."),
    steps: described(
      stepsShape,
      "Of a compressed input what was given up: tool_outputs, media, duplicates, reasoning, units, texts. Of server_tools, how many calls the model made.",
    ),
    tools: described(array(string()), "server_tools: types of those that the model could call."),
    stop_reason: described(
      string(),
      "server_tools, why there were no more calls: answer, client_calls, incomplete or failed; a condition of stop_server_tools_when, max_tool_calls, max_turns, errors or deadline; not_run in a dry run.",
    ),
    rejected_calls: described(
      integer({ min: 0 }),
      "server_tools: calls of client tools that the model had to make again, because one of them was wrong.",
    ),
    ...pluginReceiptFields,
  },
  { description: "What the stage found and did; each kind of stage has fields of its own beside these." },
);

export const stage = named(
  "PipelineStage",
  object(
    {
      type: described(
        string(),
        "Kind of the stage: guardrail, plugin, server_tools, response_healing, context_compression, or usage where figures of a provider were not believed.",
      ),
      name: described(string(), "What ran, such as content-filter."),
      summary: described(string(), "Its outcome in one line."),
      guardrail_id: described(string(), "The guardrail that decided."),
      guardrail_scope: described(string(), "What the guardrail is given to: api-key, workspace or account."),
      cost_usd: described(nullable(number()), "What the stage cost, in US dollars."),
      data: stageData,
    },
    { required: ["type", "name"], description: "Something that acted on the request or on its answer." },
  ),
);

export const loss = object(
  {
    path: described(string(), "Field of the request."),
    reason: described(string(), "Why it was not sent to the provider."),
  },
  { required: ["path", "reason"] },
);

const unknownField = object(
  {
    name: described(string(), "As it was sent; at most 64 printable characters."),
    did_you_mean: described(string(), "The field that is spelled nearly the same."),
    reason: described(string(), "Why a field that exists reaches no provider."),
  },
  { required: ["name"] },
);

const params = object(
  {
    policy_generation: described(
      integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      "State of keys and guardrails on which the request was decided.",
    ),
    not_sent: described(
      array(loss),
      "Settings that were not sent because the format of the serving endpoint lacks them.",
    ),
    unknown_fields: described(
      array(unknownField),
      "Fields of the request that were ignored, because they do not exist or for the reason given, also in the header x-sluice-warning; at most 16.",
    ),
  },
  { description: "Settings that applied to the decision." },
);

export const serviceMetadataShape = named(
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
