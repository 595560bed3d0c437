/** A turn as the body of POST /responses. */
import type { TextFormat, TurnRequest } from "../../turn/request.ts";
import type { Lose, Target } from "../dialect.ts";
import { type JsonObject, Verbatim, objectJson } from "../json.ts";
import { inputItems } from "./items.ts";
import { tools } from "./tools.ts";
import { isVendor } from "./vendor.ts";

export function responsesBody(request: TurnRequest, target: Target, lose: Lose): string {
  return objectJson({
    model: target.upstreamModel,
    input: inputItems(request, target, lose),
    instructions: request.instructions,
    stream: request.stream,
    // Nothing of the house's traffic is kept with a provider.
    store: false,
    max_output_tokens: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    top_logprobs: request.topLogprobs,
    ...tools(request, target, lose),
    max_tool_calls: request.maxToolCalls,
    truncation: request.truncation,
    text: textSettings(request),
    ...(request.include.length > 0 && { include: request.include }),
    prompt_cache_key: request.promptCacheKey,
    prompt_cache_options: verbatim(request.promptCacheOptionsJson),
    ...(isVendor(target) ? ofVendor(request, lose) : ofOthers(request, lose)),
    ...(target.tier !== "default" && { service_tier: target.tier }),
  });
}

const verbatim = (json: string | undefined): Verbatim | undefined =>
  json === undefined ? undefined : new Verbatim(json);

/** All that the contract has beyond the vendor's format, for servers that ignore what they do not know. */
function ofOthers(request: TurnRequest, lose: Lose): JsonObject {
  if (request.identityField) lose(request.identityField, "the endpoint is not known to take it");
  return {
    top_k: request.topK,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
    reasoning: reasoning(request, { max_tokens: request.reasoning?.maxTokens }),
    cache_control: request.cacheControl && { type: "ephemeral", ttl: request.cacheControl.ttl },
    image_config: verbatim(request.imageConfigJson),
    ...(request.outputModalities.length > 0 && { modalities: request.outputModalities }),
  };
}

/** The vendor answers 400 to names that its reference of POST /responses does not list. */
function ofVendor(request: TurnRequest, lose: Lose): JsonObject {
  const unknown: Readonly<Record<string, unknown>> = {
    top_k: request.topK,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
    "reasoning.max_tokens": request.reasoning?.maxTokens,
    // It caches prefixes by itself; prompt_cache_breakpoint on a part is its mark.
    cache_control: request.cacheControl,
    image_config: request.imageConfigJson,
    // Text is what it gives unasked; images come from a tool.
    modalities: request.outputModalities.find((modality) => modality !== "text"),
  };
  for (const [path, value] of Object.entries(unknown)) {
    if (value !== undefined) lose(path, "the provider does not know it");
  }
  return { reasoning: reasoning(request, {}), safety_identifier: request.identityHash };
}

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

/** @param more what this target takes beside them */
function reasoning(request: TurnRequest, more: JsonObject): JsonObject | undefined {
  const { effort, summary, context, mode } = request.reasoning ?? {};
  const said = { effort, summary, context, mode, ...more };
  return Object.values(said).every((value) => value === undefined) ? undefined : said;
}
