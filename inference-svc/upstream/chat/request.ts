/** A turn as the body of POST /chat/completions. */
import type { FunctionTool, TextFormat, ToolChoice, TurnRequest } from "../../turn/request.ts";
import type { Target } from "../dialect.ts";
import { type JsonObject, Verbatim, arrayJson, objectJson } from "../json.ts";
import { wantsLogprobs } from "../served.ts";
import { chatMessages } from "./messages.ts";

export function chatBody(request: TurnRequest, target: Target): string {
  return objectJson({
    model: target.upstreamModel,
    messages: chatMessages(request, target.original),
    stream: request.stream,
    ...(request.stream && { stream_options: { include_usage: true } }),
    ...samplers(request),
    ...tools(request),
    ...(request.textFormat && { response_format: responseFormat(request.textFormat) }),
    ...(request.reasoning?.effort !== undefined && { reasoning_effort: request.reasoning.effort }),
    ...(target.original ? ofTheVendor(request, target) : ofOthers(request)),
  });
}

function samplers(request: TurnRequest): JsonObject {
  return {
    temperature: request.temperature,
    top_p: request.topP,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
    ...(wantsLogprobs(request) && { logprobs: true, top_logprobs: request.topLogprobs }),
  };
}

function tools(request: TurnRequest): JsonObject {
  if (request.tools.length === 0) return {};
  return {
    tools: arrayJson(
      functionsOf(request).map((tool) => ({ type: "function", function: new Verbatim(functionJson(tool)) })),
    ),
    ...(request.toolChoice !== undefined && { tool_choice: toolChoice(request.toolChoice) }),
    parallel_tool_calls: request.parallelToolCalls,
  };
}

const functionsOf = (request: TurnRequest): readonly FunctionTool[] =>
  request.tools.filter((tool) => tool.type === "function");

const functionJson = (tool: FunctionTool): string =>
  objectJson({
    name: tool.name,
    description: tool.description,
    parameters: tool.parametersJson === "null" ? undefined : new Verbatim(tool.parametersJson),
    strict: tool.strict,
  });

const toolChoice = (choice: ToolChoice): unknown =>
  typeof choice === "string"
    ? choice
    : { type: "function", function: { name: choice.type === "tool" ? choice.tool.name : undefined } };

function responseFormat(format: TextFormat): Verbatim | undefined {
  if (format.type === "text") return undefined;
  if (format.type === "json_object") return new Verbatim('{"type":"json_object"}');
  const { name, description, strict } = format;
  const schema = objectJson({ name, description, strict, schema: new Verbatim(format.schemaJson) });
  return new Verbatim(objectJson({ type: format.type, json_schema: new Verbatim(schema) }));
}

/** Takes newer names, and answers 400 to what it does not know. */
function ofTheVendor(request: TurnRequest, target: Target): JsonObject {
  return {
    max_completion_tokens: request.maxOutputTokens,
    verbosity: request.verbosity,
    prompt_cache_key: request.promptCacheKey,
    ...(target.tier !== "default" && { service_tier: target.tier }),
  };
}

const ofOthers = (request: TurnRequest): JsonObject => ({ max_tokens: request.maxOutputTokens, top_k: request.topK });
