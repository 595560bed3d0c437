/** Shape of GET /models/{author}/{slug}/endpoints: the endpoints of a model. */
import {
  anyValue,
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
} from "@sluice/proto/lib/validation/shape.js";
import { architecture, pricing, supportedParameters } from "./parts.ts";

const percentiles = named(
  "Percentiles",
  object(
    { p50: number({ min: 0 }), p75: number({ min: 0 }), p90: number({ min: 0 }), p99: number({ min: 0 }) },
    {
      required: ["p50", "p75", "p90", "p99"],
      description: "Percentiles of one process's measurements of the last 30 minutes.",
    },
  ),
);

const uptime = (span: string) =>
  described(
    nullable(number({ min: 0, max: 100 })),
    `Per cent of one process's attempts of the last ${span} that went well; null when there was none.`,
  );

const toolChoice = object(
  { auto: boolean, function: boolean, none: boolean, required: boolean },
  { required: ["auto", "function", "none", "required"], description: "Values of `tool_choice` that are sent." },
);

const endpoint = object(
  {
    name: described(string(), "Provider and model, for people."),
    model_id: described(string({ min: 1 }), "Slug of the model."),
    model_name: described(string(), "Name of the model."),
    provider_name: described(string(), "Name of the provider, for people."),
    tag: described(string({ min: 1 }), "By which `provider.only`, `ignore` and `order` name it."),
    service_tier: described(word("default", "priority", "flex", "scale", "ultrafast"), "Tier of the endpoint."),
    region: described(string(), "Where the provider is, in the words of the operator."),
    quantization: described(nullable(string()), "Quantization, such as fp8; `unknown` when it is not declared."),
    context_length: described(integer({ min: 1 }), "Tokens of input and output together."),
    max_completion_tokens: described(nullable(integer({ min: 1 })), "Tokens that one answer has at most."),
    max_prompt_tokens: anyValue,
    pricing,
    supported_parameters: supportedParameters,
    supports_tool_choice: toolChoice,
    supports_implicit_caching: described(boolean, "Whether it caches without marks in the request."),
    supports_voice_cloning: boolean,
    data_policy: object(
      { zero_retention: described(boolean, "The provider is declared to keep nothing.") },
      { required: ["zero_retention"] },
    ),
    distillable: described(boolean, "Other models may learn from its output."),
    status: described(integer({ max: 0 }), "0, or below it while most attempts fail."),
    uptime_last_5m: uptime("five minutes"),
    uptime_last_30m: uptime("30 minutes"),
    uptime_last_1d: uptime("24 hours"),
    latency_last_30m: described(
      nullable(percentiles),
      "Milliseconds until the first token; null when none was measured.",
    ),
    throughput_last_30m: described(nullable(percentiles), "Tokens per second after it; null when none was measured."),
  },
  {
    required: [
      "name",
      "model_id",
      "model_name",
      "provider_name",
      "tag",
      "service_tier",
      "region",
      "quantization",
      "context_length",
      "max_completion_tokens",
      "max_prompt_tokens",
      "pricing",
      "supported_parameters",
      "supports_tool_choice",
      "supports_implicit_caching",
      "supports_voice_cloning",
      "data_policy",
      "distillable",
      "status",
      "uptime_last_5m",
      "uptime_last_30m",
      "uptime_last_1d",
      "latency_last_30m",
      "throughput_last_30m",
    ],
    description: "A provider's offer of a model.",
  },
);

const served = object(
  {
    id: described(string({ min: 1 }), "Slug of the model."),
    name: described(string(), "Name for people."),
    created: described(integer({ min: 0 }), "When it came out, in epoch seconds; 0 when it is not known."),
    description: described(string(), "For people; may be empty."),
    architecture,
    endpoints: array(named("Endpoint", endpoint), { min: 1 }),
  },
  { required: ["id", "name", "created", "description", "architecture", "endpoints"] },
);

export const endpointList = named(
  "EndpointList",
  object({ data: named("ServedModel", served) }, { required: ["data"] }),
);
