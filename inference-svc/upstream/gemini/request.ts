/** A turn as the body of POST /models/{model}:generateContent. */
import type { TextFormat, TurnRequest } from "../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type JsonObject, jsonText } from "../json.ts";
import { wantsLogprobs } from "../events/service-tier.ts";
import { dropTier } from "../translate/sent-tier.ts";
import { SentTools } from "../translate/tool-names.ts";
import { geminiSchemas } from "../translate/schemas/rules.ts";
import { sendAnswerSchema } from "../translate/schemas/sent-schema.ts";
import { boundStops, dropExtensions } from "../translate/extensions.ts";
import { type TranslationContext, supports } from "../translate/context.ts";
import { buildContents } from "./messages.ts";
import { thinkingConfig } from "./reasoning.ts";
import { geminiToolSettings } from "./tools.ts";
import { dropAddition } from "../translate/additions.ts";

export function geminiBody(request: TurnRequest, target: Target, onDropped: OnDropped): string {
  const translation: TranslationContext = { target, tools: SentTools.of(request, true), onDropped };
  const { tools, toolConfig } = geminiToolSettings(request, translation);
  const { system, contents } = buildContents(request, translation);
  const generationConfig: JsonObject = {
    maxOutputTokens: request.maxOutputTokens,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    stopSequences: boundStops(request.stop, maxStops, onDropped),
    seed: seedOf(request, onDropped),
    ...newerSamplers(request, translation),
    ...outputFormat(request.textFormat, onDropped),
    ...images(request, onDropped),
    thinkingConfig: thinkingConfig(request, translation),
  };
  dropUnsupported(request, onDropped);
  const configured = Object.values(generationConfig).some((value) => value !== undefined);
  const body = {
    contents,
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    tools,
    toolConfig,
    ...(configured && { generationConfig }),
    serviceTier: serviceTier(request, target, onDropped),
  };
  return jsonText(body);
}

/** https://ai.google.dev/api/generate-content#GenerationConfig */
const maxStops = 5;

function seedOf({ seed }: TurnRequest, onDropped: OnDropped): number | undefined {
  if (seed === undefined || (seed | 0) === seed) return seed;
  onDropped("seed", "the format takes 32 bits");
  return undefined;
}

/** Most models answer 400 to these, so they are sent only where `supported_parameters` names them. */
function newerSamplers(request: TurnRequest, { target, onDropped }: TranslationContext): JsonObject {
  const known = (path: string, value: number | undefined): number | undefined => {
    if (value === undefined || supports(target, path)) return value;
    onDropped(path, "the endpoint does not support it");
    return undefined;
  };
  const penalties = {
    frequencyPenalty: known("frequency_penalty", request.frequencyPenalty),
    presencePenalty: known("presence_penalty", request.presencePenalty),
  };
  if (!wantsLogprobs(request)) return penalties;
  if (supports(target, "top_logprobs")) return { ...penalties, responseLogprobs: true, logprobs: request.topLogprobs };
  const reason = "the endpoint does not support it";
  if (request.topLogprobs !== undefined) onDropped("top_logprobs", reason);
  else dropAddition(request, "message.output_text.logprobs", onDropped, reason);
  return penalties;
}

function outputFormat(format: TextFormat | undefined, onDropped: OnDropped): JsonObject {
  if (format === undefined || format.type === "text") return {};
  const responseMimeType = "application/json";
  if (format.type === "json_object") return { responseMimeType };
  if (format.description !== undefined) onDropped("text.format.description", "the format has no field for it");
  return { responseMimeType, responseJsonSchema: sendAnswerSchema(format, geminiSchemas, onDropped).schema };
}

/** Fields of `image_config` in the contract and their names here (https://ai.google.dev/gemini-api/docs/image-generation). */
const imageFields: Readonly<Record<string, string>> = { aspect_ratio: "aspectRatio", image_size: "imageSize" };

function images({ outputModalities, imageConfigJson }: TurnRequest, onDropped: OnDropped): JsonObject {
  if (!outputModalities.includes("image")) {
    if (imageConfigJson !== undefined) onDropped("image_config", "no images were asked for");
    return {};
  }
  const settings = Object.entries(imageConfigJson === undefined ? {} : (JSON.parse(imageConfigJson) as JsonObject));
  for (const [field] of settings) {
    if (imageFields[field] === undefined) onDropped(`image_config.${field}`, "the format has no field for it");
  }
  const known = settings.flatMap(([field, value]) =>
    imageFields[field] === undefined ? [] : [[imageFields[field], value]],
  );
  return {
    responseModalities: outputModalities.map((modality) => modality.toUpperCase()),
    ...(known.length > 0 && { imageConfig: Object.fromEntries(known) as JsonObject }),
  };
}

/** Google sells only these tiers (https://ai.google.dev/gemini-api/docs/optimization). */
function serviceTier({ serviceTier: wanted }: TurnRequest, { tier }: Target, onDropped: OnDropped): string | undefined {
  dropTier(wanted, tier, onDropped);
  if (tier === "flex" || tier === "priority") return tier;
  if (tier !== "default") onDropped("service_tier", `the format has no tier called ${tier}`);
  return undefined;
}

function dropUnsupported(request: TurnRequest, onDropped: OnDropped): void {
  const unsupported: Readonly<Record<string, unknown>> = {
    "text.verbosity": request.verbosity,
    prompt_cache_key: request.promptCacheKey,
    prompt_cache_options: request.promptCacheOptionsJson,
    max_tool_calls: request.maxToolCalls,
  };
  for (const [path, value] of Object.entries(unsupported)) {
    if (value !== undefined) onDropped(path, "the format has no field for it");
  }
  dropExtensions(request, onDropped, ["stop", "seed"]);
  if (request.cacheControl) onDropped("cache_control", "the provider caches by itself");
  if (request.identityField) onDropped(request.identityField, "the format has no field for it");
}
