/** The response object: the whole answer without a stream, and the payload of the first and last events of a stream. */
import {
  anyValue,
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
  stringOr,
  word,
} from "../../lib/validation/shape.ts";
import { alignmentVerdicts, errorType } from "../operations/errors.ts";
import { outputItem } from "../items/output.ts";
import { openObject } from "../items/parts.ts";
import { serviceMetadataShape } from "./service-metadata.ts";

/** Epoch seconds up to the largest exact integer, because 32 bits end in 2038. */
export const epochSeconds = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
export const tokenCount = integer({ min: 0 });
const dollars = nullable(number({ min: 0 }));

/** Usage figures common to all formats. */
export const charges = {
  is_estimated: described(
    boolean,
    "True when the provider left out figures, or gave some that cannot be right, and some of these were estimated by the size of the texts; absent otherwise.",
  ),
  cost: described(dollars, "US dollars by the price list; absent when no price is known."),
  is_byok: described(boolean, "Whether a provider key of the caller paid."),
  cost_details: object({
    upstream_inference_cost: described(dollars, "Input and output together."),
    upstream_inference_input_cost: described(dollars, "Input tokens, cached ones at their price, images and fees."),
    upstream_inference_output_cost: described(dollars, "Output tokens, reasoning included."),
    server_tool_cost: described(dollars, "Tools that the provider ran; absent when that is nothing."),
  }),
  server_tool_use_details: object({
    web_search_requests: described(tokenCount, "Searches that were made."),
    tool_calls_requested: described(tokenCount, "Calls of server tools that the model asked for."),
    tool_calls_executed: described(tokenCount, "Calls that were run."),
  }),
} as const;

export const usage = named(
  "Usage",
  object(
    {
      input_tokens: described(tokenCount, "Tokens of the input."),
      input_tokens_details: object(
        {
          cached_tokens: described(tokenCount, "Input tokens read from a cache."),
          cache_write_tokens: described(nullable(tokenCount), "Input tokens written into a cache."),
        },
        { required: ["cached_tokens"] },
      ),
      output_tokens: described(tokenCount, "Tokens of the answer, reasoning included."),
      output_tokens_details: object(
        { reasoning_tokens: described(tokenCount, "Output tokens of reasoning.") },
        { required: ["reasoning_tokens"] },
      ),
      total_tokens: described(tokenCount, "Input and output together."),
      ...charges,
    },
    {
      required: ["input_tokens", "input_tokens_details", "output_tokens", "output_tokens_details", "total_tokens"],
      description: "What the turn consumed, all provider calls together.",
    },
  ),
);

const error = object(
  {
    code: described(
      string(),
      "`server_error`, `rate_limit_exceeded`, `invalid_prompt`, or the name of what is wrong with an image.",
    ),
    message: described(string(), "What went wrong, for a person."),
  },
  { required: ["code", "message"] },
);

const incompleteDetails = object(
  { reason: described(word("max_output_tokens", "content_filter"), "What cut the answer off.") },
  { required: ["reason"] },
);

const echo = "As in the request.";
const sampler = nullable(number());

const textSettings = object(
  {
    format: described(
      object({ type: string() }, { required: ["type"] }),
      "Form of the text; `text` unless asked otherwise.",
    ),
    verbosity: described(nullable(string()), echo),
  },
  { required: ["format"] },
);

const reasoningSettings = object(
  {
    effort: described(nullable(string()), echo),
    summary: described(nullable(string()), echo),
    enabled: nullable(boolean),
    max_tokens: nullable(integer()),
    context: nullable(string()),
    mode: nullable(string()),
  },
  { required: ["effort", "summary"] },
);

const echoed = {
  parallel_tool_calls: described(boolean, "Whether the model may call several tools at once; true unless refused."),
  tool_choice: described(
    stringOr(string(), openObject, "must be a string or an object"),
    "As in the request; `auto` when absent.",
  ),
  tools: described(array(object({ type: string() }, { required: ["type"] })), "As the request declared them."),
  max_output_tokens: described(nullable(integer()), echo),
  max_tool_calls: described(nullable(integer()), echo),
  metadata: described(nullable(map(string())), echo),
  temperature: described(sampler, echo),
  top_p: described(sampler, echo),
  frequency_penalty: described(sampler, echo),
  presence_penalty: described(sampler, echo),
  top_logprobs: described(integer({ min: 0 }), echo),
  truncation: described(word("auto", "disabled"), "Whether the middle of an input that is too long may be left out."),
  text: described(textSettings, "Settings of the text."),
  reasoning: described(nullable(reasoningSettings), "Settings of the reasoning."),
} as const;

const echoedLast = {
  store: described(constant(false), "Nothing is stored."),
  background: described(boolean, "False: nothing runs in the background."),
  user: described(nullable(string()), echo),
  previous_response_id: described(nullable(string()), "Null: nothing is stored that could be continued."),
  prompt_cache_key: described(nullable(string()), echo),
  safety_identifier: described(nullable(string()), echo),
} as const;

const always = {
  id: described(string({ min: 1 }), "Identifier of the response."),
  object: word("response"),
  created_at: described(epochSeconds, "Epoch seconds at which the request came in."),
  completed_at: described(nullable(epochSeconds), "Epoch seconds of the end; null unless the status is completed."),
  status: described(
    word("in_progress", "completed", "incomplete", "failed"),
    "How the turn ended; `in_progress` only inside of a stream.",
  ),
  error: described(nullable(error), "Why it failed; null otherwise."),
  incomplete_details: described(nullable(incompleteDetails), "Why it is incomplete; null otherwise."),
  instructions: described(nullable(string()), echo),
  model: described(string(), "Slug of the model that served, which a fallback may have chosen."),
  output: described(array(outputItem), "What the model and the tools produced, in order."),
  ...echoed,
  service_tier: described(nullable(word("default", "flex", "priority", "scale", "ultrafast")), "The tier that served."),
  ...echoedLast,
  usage: described(
    nullable(usage),
    "Null until the turn has ended. Of a failed turn, what is known of it; null when it produced nothing.",
  ),
} as const;

export const response = named(
  "Response",
  object(
    {
      ...always,
      error_type: errorType,
      alignment: alignmentVerdicts,
      service_metadata: serviceMetadataShape,
      prompt: described(anyValue, echo),
      prompt_cache_options: described(anyValue, echo),
    },
    { required: Object.keys(always), description: "An answer and the settings with which it was made." },
  ),
);
