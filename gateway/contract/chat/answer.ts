/** The answer of POST /chat/completions: one object, or the chunks of a stream. */
import {
  type Shape,
  anyValue,
  array,
  constant,
  described,
  integer,
  named,
  nullable,
  object,
  string,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { logprob } from "@sluice/proto/contract/items/parts.js";
import { alignmentVerdicts, errorType } from "@sluice/proto/contract/operations/errors.js";
import { charges, epochSeconds, tokenCount } from "@sluice/proto/contract/response/response.js";
import { serviceMetadataShape } from "@sluice/proto/contract/response/service-metadata.js";
import { answerImage, reasoningDetail } from "./messages.ts";

const chatUsage = named(
  "ChatUsage",
  object(
    {
      prompt_tokens: described(tokenCount, "Tokens of the input."),
      completion_tokens: described(tokenCount, "Tokens of the answer, reasoning included."),
      total_tokens: described(tokenCount, "Input and output together."),
      prompt_tokens_details: object({
        cached_tokens: described(tokenCount, "Input tokens read from a cache."),
        cache_write_tokens: described(tokenCount, "Input tokens written into a cache."),
      }),
      completion_tokens_details: object({
        reasoning_tokens: described(tokenCount, "Output tokens of reasoning."),
      }),
      ...charges,
    },
    {
      required: ["prompt_tokens", "completion_tokens", "total_tokens"],
      description: "What the turn consumed, all provider calls together.",
    },
  ),
);

const index = described(integer({ min: 0 }), "Position among its kind in the answer.");
const called = object({ name: string(), arguments: described(string(), "Arguments as JSON text.") });
const custom = object({ name: string(), input: described(string(), "Input of the tool.") });

const call = (needed: readonly ("id" | "type" | "index")[]): Shape =>
  object(
    {
      index,
      id: described(string(), "What the result of the call names."),
      type: word("function", "custom"),
      function: called,
      custom,
    },
    { required: needed, description: "A tool that the client is to run." },
  );

const citation = object(
  {
    type: word("url_citation"),
    url_citation: object(
      {
        url: described(string(), "Address of the source."),
        title: described(string(), "Title of the source; empty when it is not known."),
        start_index: described(integer({ min: 0 }), "First character of the passage in `content`."),
        end_index: described(integer({ min: 0 }), "The character after the last one."),
        content: described(string(), "Excerpt of the source, when the search engine gives one."),
      },
      { required: ["url", "title", "start_index", "end_index"] },
    ),
  },
  { required: ["type", "url_citation"], description: "A passage that rests on a web page." },
);

const piece = {
  role: word("assistant"),
  content: described(nullable(string()), "Text; null beside calls and refusals."),
  refusal: described(nullable(string()), "Why the model declines, in its own words."),
  reasoning: described(string(), "Reasoning or its summaries as text."),
  reasoning_details: described(array(reasoningDetail), "The same with what is needed to send it back."),
  function_call: described(called, "The call, when the request had `functions`."),
  annotations: described(array(citation), "What passages of the text rest on."),
  images: described(array(answerImage), "Images that the model made."),
} as const;

const message = named(
  "ChatAnswer",
  object(
    { ...piece, tool_calls: array(call(["id", "type"])) },
    { required: ["role", "content", "refusal"], description: "The answer of the model." },
  ),
);

const delta = named(
  "ChatDelta",
  object({ ...piece, tool_calls: array(call(["index"])) }, { description: "A piece of the answer." }),
);

const probabilities = described(
  nullable(object({ content: nullable(array(logprob)), refusal: nullable(array(logprob)) }, { required: ["content"] })),
  "Probabilities of the tokens, when `logprobs` asked for them.",
);

const reasons = ["stop", "length", "tool_calls", "function_call", "content_filter"] as const;

const common = {
  id: described(string({ min: 1 }), "Identifier of the completion."),
  created: described(epochSeconds, "Epoch seconds at which the request came in."),
  model: described(string(), "Slug of the model that served, which a fallback may have chosen."),
} as const;

const closing = {
  service_tier: described(nullable(word("default", "flex", "priority", "scale", "ultrafast")), "The tier that served."),
  alignment: alignmentVerdicts,
  service_metadata: serviceMetadataShape,
} as const;

export const chatCompletion = named(
  "ChatCompletion",
  object(
    {
      ...common,
      object: word("chat.completion"),
      system_fingerprint: described(constant(null, "is not known"), "Always null; clients of the format expect it."),
      choices: array(
        object(
          {
            index: integer({ min: 0, max: 0 }),
            message,
            logprobs: probabilities,
            finish_reason: described(word(...reasons), "Why the answer ends."),
          },
          { required: ["index", "message", "logprobs", "finish_reason"] },
        ),
        { min: 1, max: 1 },
      ),
      usage: described(nullable(chatUsage), "Null when it is not known."),
      ...closing,
    },
    {
      required: ["id", "object", "created", "model", "system_fingerprint", "choices", "usage"],
      description: "An answer with one choice.",
    },
  ),
);

const failure = object(
  {
    code: integer(),
    message: string(),
    type: string(),
    param: string(),
    metadata: object({ error_type: errorType }),
  },
  { required: ["code", "message"], description: "Why the stream ends: code is the status that it would have had." },
);

export const chatChunk = named(
  "ChatCompletionChunk",
  object(
    {
      ...common,
      object: word("chat.completion.chunk"),
      choices: array(
        object(
          {
            index: integer({ min: 0, max: 0 }),
            delta,
            logprobs: probabilities,
            finish_reason: described(nullable(word(...reasons, "error")), "Null until the answer ends."),
          },
          { required: ["index", "delta", "finish_reason"] },
        ),
        { max: 1 },
      ),
      usage: described(
        nullable(chatUsage),
        "In the last chunk, without a piece of the message; also beside an `error`.",
      ),
      error: failure,
      debug: described(anyValue, "With `debug`, before everything else: the body sent to the provider."),
      ...closing,
    },
    { required: ["id", "object", "created", "model", "choices"], description: "A piece of an answer." },
  ),
);
