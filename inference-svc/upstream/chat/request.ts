/** A turn as the body of POST /chat/completions. */
import type { TextFormat, TurnRequest } from "../../turn/request.ts";
import type { Lose, Target } from "../dialect.ts";
import { type JsonObject, Verbatim, objectJson } from "../json.ts";
import { wantsLogprobs } from "../served.ts";
import { chatMessages } from "./messages.ts";
import { reasoningSettings } from "./reasoning.ts";
import { SentTools } from "../tool-names.ts";
import { toolSettings } from "./tools.ts";
import { type Words, supports } from "../words.ts";

export function chatBody(request: TurnRequest, target: Target, lose: Lose): string {
  const words: Words = { target, tools: SentTools.of(request, !target.original), lose };
  return objectJson({
    model: target.upstreamModel,
    messages: chatMessages(request, words),
    stream: request.stream,
    ...(request.stream && { stream_options: { include_usage: true } }),
    ...samplers(request),
    ...toolSettings(request, words),
    ...(request.textFormat && { response_format: responseFormat(request.textFormat) }),
    ...reasoningSettings(request, words),
    ...(target.original ? ofTheVendor(request, words) : ofOthers(request, words)),
    // Elsewhere, too: the operator says that the endpoint has it, and it is billed as such.
    ...(target.tier !== "default" && { service_tier: target.tier }),
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

function responseFormat(format: TextFormat): Verbatim | undefined {
  if (format.type === "text") return undefined;
  if (format.type === "json_object") return new Verbatim('{"type":"json_object"}');
  const { name, description, strict } = format;
  const schema = objectJson({ name, description, strict, schema: new Verbatim(format.schemaJson) });
  return new Verbatim(objectJson({ type: format.type, json_schema: new Verbatim(schema) }));
}

const verbatim = (json: string | undefined): Verbatim | undefined =>
  json === undefined ? undefined : new Verbatim(json);

/** Its own vendor takes no other levels. */
const vendorVerbosity: Readonly<Record<string, string>> = { xhigh: "high", max: "high" };

/** Takes newer names, and answers 400 to what it does not know. */
function ofTheVendor(request: TurnRequest, { lose }: Words): JsonObject {
  if (request.topK !== undefined) lose("top_k", "the vendor of the format does not know it");
  if (request.imageConfigJson !== undefined) lose("image_config", "the vendor of the format does not know it");
  const { verbosity = "" } = request;
  const level = vendorVerbosity[verbosity];
  if (level !== undefined) lose("text.verbosity", `sent as ${level}`);
  return {
    max_completion_tokens: request.maxOutputTokens,
    verbosity: level ?? request.verbosity,
    prompt_cache_key: request.promptCacheKey,
    prompt_cache_options: verbatim(request.promptCacheOptionsJson),
    safety_identifier: request.identityHash,
  };
}

/** Servers differ: what is newer than the format's first years is sent where the operator says that the endpoint knows it. */
function ofOthers(request: TurnRequest, { target, lose }: Words): JsonObject {
  if (request.identityField) lose(request.identityField, "the endpoint is not known to take it");
  const draws = request.outputModalities.includes("image");
  if (request.imageConfigJson !== undefined && !draws) lose("image_config", "no images were asked for");
  const newer: JsonObject = {
    verbosity: request.verbosity,
    prompt_cache_key: request.promptCacheKey,
    prompt_cache_options: verbatim(request.promptCacheOptionsJson),
  };
  const known = Object.entries(newer).filter(([name, value]) => {
    if (value === undefined || supports(target, name)) return true;
    lose(name === "verbosity" ? "text.verbosity" : name, "the endpoint does not support it");
    return false;
  });
  return {
    max_tokens: request.maxOutputTokens,
    top_k: request.topK,
    ...Object.fromEntries(known),
    ...(draws && { modalities: request.outputModalities, image_config: verbatim(request.imageConfigJson) }),
  };
}
