/** A turn as the body of POST /models/{model}:generateContent. */
import type { TextFormat, TurnRequest } from "../../turn/request.ts";
import type { Lose, Target } from "../dialect.ts";
import { type JsonObject, Verbatim, jsonText } from "../json.ts";
import { wantsLogprobs } from "../served.ts";
import { SentTools } from "../tool-names.ts";
import { type Words, supports } from "../words.ts";
import { conversation } from "./contents.ts";
import { thinkingConfig } from "./thinking.ts";
import { toolSettings } from "./tools.ts";

export function geminiBody(request: TurnRequest, target: Target, lose: Lose): string {
  const words: Words = { target, tools: SentTools.of(request, true), lose };
  const { tools, toolConfig } = toolSettings(request, words);
  const { system, contents } = conversation(request, words);
  const generationConfig: JsonObject = {
    maxOutputTokens: request.maxOutputTokens,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    ...newerSamplers(request, words),
    ...outputFormat(request.textFormat, lose),
    ...images(request, lose),
    thinkingConfig: thinkingConfig(request, words),
  };
  declareUnsaid(request, lose);
  const configured = Object.values(generationConfig).some((value) => value !== undefined);
  return jsonText({
    contents,
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    tools,
    toolConfig,
    ...(configured && { generationConfig }),
    serviceTier: serviceTier(target, lose),
  });
}

/** Most models answer 400 to them: they are sent where the operator says that the endpoint knows them. */
function newerSamplers(request: TurnRequest, { target, lose }: Words): JsonObject {
  const known = (path: string, value: number | undefined): number | undefined => {
    if (value === undefined || supports(target, path)) return value;
    lose(path, "the endpoint does not support it");
    return undefined;
  };
  const penalties = {
    frequencyPenalty: known("frequency_penalty", request.frequencyPenalty),
    presencePenalty: known("presence_penalty", request.presencePenalty),
  };
  if (!wantsLogprobs(request)) return penalties;
  if (supports(target, "top_logprobs")) return { ...penalties, responseLogprobs: true, logprobs: request.topLogprobs };
  const path = request.include.indexOf("message.output_text.logprobs");
  lose(request.topLogprobs === undefined ? `include.${path}` : "top_logprobs", "the endpoint does not support it");
  return penalties;
}

function outputFormat(format: TextFormat | undefined, lose: Lose): JsonObject {
  if (format === undefined || format.type === "text") return {};
  const responseMimeType = "application/json";
  if (format.type === "json_object") return { responseMimeType };
  if (format.description !== undefined) lose("text.format.description", "the format has no words for it");
  return { responseMimeType, responseJsonSchema: new Verbatim(format.schemaJson) };
}

/** Under the names that the contract has for them (https://ai.google.dev/gemini-api/docs/image-generation). */
const imageFields: Readonly<Record<string, string>> = { aspect_ratio: "aspectRatio", image_size: "imageSize" };

function images({ outputModalities, imageConfigJson }: TurnRequest, lose: Lose): JsonObject {
  if (!outputModalities.includes("image")) {
    if (imageConfigJson !== undefined) lose("image_config", "no images were asked for");
    return {};
  }
  const said = Object.entries(imageConfigJson === undefined ? {} : (JSON.parse(imageConfigJson) as JsonObject));
  for (const [field] of said) {
    if (imageFields[field] === undefined) lose(`image_config.${field}`, "the format has no words for it");
  }
  const known = said.flatMap(([field, value]) =>
    imageFields[field] === undefined ? [] : [[imageFields[field], value]],
  );
  return {
    responseModalities: outputModalities.map((modality) => modality.toUpperCase()),
    ...(known.length > 0 && { imageConfig: Object.fromEntries(known) as JsonObject }),
  };
}

/** Those that the vendor sells (https://ai.google.dev/gemini-api/docs/optimization). */
function serviceTier({ tier }: Target, lose: Lose): string | undefined {
  if (tier === "flex" || tier === "priority") return tier;
  if (tier !== "default") lose("service_tier", `the format has no tier called ${tier}`);
  return undefined;
}

function declareUnsaid(request: TurnRequest, lose: Lose): void {
  const unsaid: Readonly<Record<string, unknown>> = {
    "text.verbosity": request.verbosity,
    prompt_cache_key: request.promptCacheKey,
    prompt_cache_options: request.promptCacheOptionsJson,
    max_tool_calls: request.maxToolCalls,
  };
  for (const [path, value] of Object.entries(unsaid)) {
    if (value !== undefined) lose(path, "the format has no words for it");
  }
  if (request.cacheControl) lose("cache_control", "the provider caches as it sees fit");
  if (request.identityField) lose(request.identityField, "the format has no words for it");
}
