/** A turn as the body of POST /responses. */
import type { FunctionTool, InputItem, TextFormat, ToolChoice, TurnRequest } from "../../turn/request.ts";
import type { Target } from "../dialect.ts";
import { type JsonObject, Verbatim, arrayJson, objectJson } from "../json.ts";

export function responsesBody(request: TurnRequest, target: Target): string {
  return objectJson({
    model: target.upstreamModel,
    input: request.input.flatMap(inputItem),
    instructions: request.instructions,
    stream: request.stream,
    // Nothing of the house's traffic is kept with a provider.
    store: false,
    max_output_tokens: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    top_logprobs: request.topLogprobs,
    ...(target.original ? {} : ofOthers(request)),
    ...tools(request),
    text: textSettings(request),
    reasoning: reasoning(request),
    ...(request.include.length > 0 && { include: request.include }),
    prompt_cache_key: request.promptCacheKey,
    ...(target.tier !== "default" && { service_tier: target.tier }),
  });
}

/** The vendor of the format answers 400 to these. */
const ofOthers = (request: TurnRequest): JsonObject => ({
  top_k: request.topK,
  frequency_penalty: request.frequencyPenalty,
  presence_penalty: request.presencePenalty,
});

/**
 * Reasoning goes back only as the provider's own sealed text: an id alone would point to something that is not stored, and readable reasoning
 * is an output. `format` and `signature` are not part of the provider's form.
 */
function inputItem(item: InputItem): readonly JsonObject[] {
  if (item.type !== "reasoning") return [item];
  if (typeof item.encrypted_content !== "string" || item.encrypted_content === "") return [];
  const { type, id, summary, encrypted_content } = item;
  return [{ type, id, summary: summary ?? [], encrypted_content }];
}

function tools(request: TurnRequest): JsonObject {
  if (request.tools.length === 0) return {};
  return {
    tools: arrayJson(request.tools.filter((tool) => tool.type === "function").map(functionTool)),
    tool_choice: toolChoice(request.toolChoice),
    parallel_tool_calls: request.parallelToolCalls,
  };
}

const toolChoice = (choice: ToolChoice | undefined): unknown =>
  typeof choice === "object" && choice.type === "tool" ? choice.tool : choice;

const functionTool = (tool: FunctionTool): JsonObject => ({
  type: tool.type,
  name: tool.name,
  description: tool.description,
  parameters: new Verbatim(tool.parametersJson),
  // Absent means true with the vendor of the format, and false for everybody else.
  strict: tool.strict ?? false,
});

function textSettings(request: TurnRequest): Verbatim | undefined {
  if (request.textFormat === undefined && request.verbosity === undefined) return undefined;
  const format = request.textFormat && new Verbatim(formatJson(request.textFormat));
  return new Verbatim(objectJson({ format, verbosity: request.verbosity }));
}

function formatJson(format: TextFormat): string {
  if (format.type !== "json_schema") return JSON.stringify({ type: format.type });
  const { type, name, description, strict } = format;
  return objectJson({ type, name, description, strict, schema: new Verbatim(format.schemaJson) });
}

function reasoning(request: TurnRequest): JsonObject | undefined {
  const { effort, summary } = request.reasoning ?? {};
  return effort === undefined && summary === undefined ? undefined : { effort, summary };
}
