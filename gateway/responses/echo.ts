/** The settings of a request as its response object repeats them: JSON fragments, made once and written many times. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import { oneLine } from "@sluice/proto/runtime/validation/json-span.js";

export interface Echo {
  /** The value of `instructions`. */
  readonly instructionsJson: string;
  /** Members from `parallel_tool_calls` to `reasoning`, without commas around them. */
  readonly beforeTier: string;
  /** Members from `store` to `safety_identifier`, without commas around them. */
  readonly afterTier: string;
}

/** @param reasoning as the client sent it, checked or not: only known members are repeated */
export function echoOf(request: RunTurnRequest, reasoning: JsonObject | undefined): Echo {
  return {
    instructionsJson: text(request.instructions),
    beforeTier:
      `"parallel_tool_calls":${request.parallelToolCalls ?? true}` +
      `,"tool_choice":${verbatim(request.toolChoiceJson, '"auto"')},"tools":${verbatim(request.toolsJson, "[]")}` +
      `,"max_output_tokens":${number(request.maxOutputTokens)},"max_tool_calls":${number(request.maxToolCalls)}` +
      `,"metadata":${metadataJson(request.metadata)}` +
      `,"temperature":${number(request.temperature)},"top_p":${number(request.topP)}` +
      `,"frequency_penalty":${number(request.frequencyPenalty)},"presence_penalty":${number(request.presencePenalty)}` +
      `,"top_logprobs":${request.topLogprobs ?? 0},"truncation":"disabled"` +
      `,"text":${textJson(request)},"reasoning":${reasoningJson(reasoning)}`,
    afterTier:
      `"store":false,"background":false,"user":${text(request.user)},"previous_response_id":null` +
      `,"prompt_cache_key":${text(request.promptCacheKey)},"safety_identifier":${text(request.safetyIdentifier)}`,
  };
}

const text = (value: string | undefined): string => (value === undefined ? "null" : JSON.stringify(value));
const number = (value: number | undefined): string => (value === undefined ? "null" : JSON.stringify(value));

/** As the client wrote it, on one line: a line break would end the `data:` line of an event. */
function verbatim(json: Uint8Array, otherwise: string): string {
  if (json.length === 0) return otherwise;
  return oneLine(Buffer.from(json.buffer, json.byteOffset, json.byteLength));
}

const metadataJson = (metadata: RunTurnRequest["metadata"]): string =>
  Object.keys(metadata).length === 0 ? "null" : JSON.stringify(metadata);

function textJson({ textFormatJson, textVerbosity }: RunTurnRequest): string {
  const verbosity = textVerbosity === "" ? "" : `,"verbosity":${JSON.stringify(textVerbosity)}`;
  return `{"format":${verbatim(textFormatJson, '{"type":"text"}')}${verbosity}}`;
}

function reasoningJson(reasoning: JsonObject | undefined): string {
  if (!reasoning) return '{"effort":null,"summary":null}';
  const { effort = null, summary = null, enabled, max_tokens, context, mode } = reasoning;
  return JSON.stringify({ effort, summary, enabled, max_tokens, context, mode });
}
