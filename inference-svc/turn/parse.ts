/**
 * What a request asks for, out of its contract form: the open-ended subtrees are scanned, parsed and checked here for both doors.
 *
 * The scalars have been checked before, by proto/runtime/validation/scalars.ts.
 */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { scanValue } from "@sluice/proto/runtime/validation/json-scan.js";
import { Problems } from "@sluice/proto/runtime/validation/problems.js";
import { parseInput } from "./parse-input.ts";
import { parseReasoning, parseTextFormat } from "./parse-settings.ts";
import { parseToolChoice, parseTools } from "./parse-tools.ts";
import type { TurnRequest } from "./request.ts";

/** @throws Fault INVALID_REQUEST with every problem and its path */
export function parseTurn(request: RunTurnRequest): TurnRequest {
  const problems = new Problems();
  const { tools, names } = parseTools(scanned(request.toolsJson, "tools"), problems);
  const toolChoice = parseToolChoice(valueOf(request.toolChoiceJson, "tool_choice"), names, problems);
  const textFormat = parseTextFormat(scanned(request.textFormatJson, "text.format"), problems);
  const reasoning = parseReasoning(valueOf(request.reasoningJson, "reasoning"), problems);
  const input = parseInput(valueOf(request.inputJson, "input"), problems);
  problems.throwIfAny();
  return {
    ...scalarsOf(request),
    input,
    tools,
    ...(toolChoice !== undefined && { toolChoice }),
    ...(textFormat && { textFormat }),
    ...(reasoning && { reasoning }),
  };
}

/** The bytes of a subtree, once the scanner has accepted them; undefined when there are none. */
function scanned(json: Uint8Array, name: string): Buffer | undefined {
  if (json.length === 0) return undefined;
  scanValue(json, name);
  return Buffer.from(json.buffer, json.byteOffset, json.byteLength);
}

function valueOf(json: Uint8Array, name: string): unknown {
  const bytes = scanned(json, name);
  return bytes && (JSON.parse(bytes.toString("utf8")) as unknown);
}

/** Absent, not undefined or empty, is what unset means from here on. */
function scalarsOf(request: RunTurnRequest): Omit<TurnRequest, "input" | "tools"> {
  return {
    models: [...new Set([request.model, ...request.models])].filter((slug) => slug !== ""),
    stream: request.stream,
    include: request.include,
    outputModalities: request.modalities,
    echoUpstreamBody: request.echoUpstreamBody && request.stream,
    serviceMetadata: request.serviceMetadata,
    ...(request.instructions !== undefined && { instructions: request.instructions }),
    ...(request.maxOutputTokens !== undefined && { maxOutputTokens: request.maxOutputTokens }),
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.topP !== undefined && { topP: request.topP }),
    ...(request.topK !== undefined && { topK: request.topK }),
    ...(request.frequencyPenalty !== undefined && { frequencyPenalty: request.frequencyPenalty }),
    ...(request.presencePenalty !== undefined && { presencePenalty: request.presencePenalty }),
    ...(request.topLogprobs !== undefined && { topLogprobs: request.topLogprobs }),
    ...(request.parallelToolCalls !== undefined && { parallelToolCalls: request.parallelToolCalls }),
    ...(request.textVerbosity !== "" && { verbosity: request.textVerbosity }),
    ...(request.serviceTier !== "" && { serviceTier: request.serviceTier }),
    ...(request.sessionId !== undefined && request.sessionId !== "" && { sessionId: request.sessionId }),
    ...(request.promptCacheKey !== undefined && { promptCacheKey: request.promptCacheKey }),
  };
}
