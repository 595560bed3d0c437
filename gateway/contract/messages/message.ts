/** The answers of POST /messages and POST /messages/count_tokens. */
import {
  anyValue,
  array,
  constant,
  described,
  integer,
  named,
  nullable,
  number,
  object,
  openTagged,
  string,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { serviceMetadataShape } from "@sluice/proto/contract/response/service-metadata.js";
import { answerBlock } from "./blocks.ts";

const tokens = integer({ min: 0 });

const usage = named(
  "MessagesMessageUsage",
  object(
    {
      input_tokens: described(tokens, "Tokens of the prompt without cached ones; an estimate in `message_start`."),
      cache_creation_input_tokens: described(tokens, "Tokens written to the provider's cache."),
      cache_read_input_tokens: described(tokens, "Tokens read from the provider's cache."),
      cache_creation: described(
        object({ ephemeral_5m_input_tokens: tokens, ephemeral_1h_input_tokens: tokens }),
        "Tokens written to the provider's cache, by the time that they are kept.",
      ),
      output_tokens: described(tokens, "Tokens of the answer, reasoning among them."),
      output_tokens_details: object({ thinking_tokens: described(tokens, "Tokens of reasoning.") }),
      service_tier: described(string(), "The tier that served: `standard`, `priority`, `flex` …"),
      server_tool_use: object({ web_search_requests: tokens }),
      is_estimated: described(constant(true), "Some figures are estimates, because the provider gave none."),
      cost: described(number({ min: 0 }), "Cost in USD, when prices are known."),
    },
    { required: ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"] },
  ),
);

const stopReason = word(
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "pause_turn",
  "refusal",
  "model_context_window_exceeded",
);

const stopDetails = object({ type: word("refusal"), category: nullable(string()), explanation: nullable(string()) });

const receipt = {
  service_metadata: described(serviceMetadataShape, "How the request was served, when that was asked for."),
};

export const message = named(
  "MessagesMessage",
  object(
    {
      id: string(),
      type: word("message"),
      role: word("assistant"),
      model: described(string(), "Slug of the model that served."),
      content: array(answerBlock),
      stop_reason: described(nullable(stopReason), "Why the answer ended; null while it is streamed."),
      stop_sequence: nullable(string()),
      stop_details: stopDetails,
      usage,
      ...receipt,
    },
    {
      required: ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"],
      description: "The answer of a model.",
    },
  ),
);

const index = described(tokens, "Number of the block.");

export const messageEvent = named(
  "MessagesMessageEvent",
  openTagged("type", {
    message_start: object({ type: word("message_start"), message }, { required: ["type", "message"] }),
    content_block_start: object(
      { type: word("content_block_start"), index, content_block: anyValue },
      { required: ["type", "index", "content_block"] },
    ),
    content_block_delta: object(
      {
        type: word("content_block_delta"),
        index,
        delta: openTagged("type", {
          text_delta: object({ type: word("text_delta"), text: string() }, { required: ["type", "text"] }),
          input_json_delta: object(
            { type: word("input_json_delta"), partial_json: string() },
            { required: ["type", "partial_json"] },
          ),
          thinking_delta: object(
            { type: word("thinking_delta"), thinking: string() },
            { required: ["type", "thinking"] },
          ),
          signature_delta: object(
            { type: word("signature_delta"), signature: string() },
            { required: ["type", "signature"] },
          ),
          citations_delta: object(
            { type: word("citations_delta"), citation: anyValue },
            { required: ["type", "citation"] },
          ),
        }),
      },
      { required: ["type", "index", "delta"] },
    ),
    content_block_stop: object({ type: word("content_block_stop"), index }, { required: ["type", "index"] }),
    message_delta: object(
      {
        type: word("message_delta"),
        delta: object(
          { stop_reason: stopReason, stop_sequence: nullable(string()), stop_details: stopDetails },
          { required: ["stop_reason", "stop_sequence"] },
        ),
        usage,
        ...receipt,
      },
      { required: ["type", "delta", "usage"] },
    ),
    message_stop: object({ type: word("message_stop") }, { required: ["type"] }),
    ping: object({ type: word("ping") }, { required: ["type"] }),
    error: object(
      {
        type: word("error"),
        error: object({ type: string(), message: string() }, { required: ["type", "message"] }),
      },
      { required: ["type", "error"] },
    ),
  }),
);

/** Marks an estimated token count. Anthropic's own answer lacks this field, and its SDKs ignore it. */
const estimated = described(constant(true), "No provider has counted the tokens.");

export const tokenCountAnswer = named(
  "MessagesTokenCount",
  object(
    { input_tokens: described(tokens, "Estimate by the size of the prompt."), estimated },
    { required: ["input_tokens", "estimated"], description: "The length of a prompt." },
  ),
);
