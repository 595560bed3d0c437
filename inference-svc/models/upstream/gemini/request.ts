/** Converts a turn to the body of POST /models/{model}:generateContent. */
import type { TextFormat, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type JsonObject, jsonText } from "../json.ts";
import { wantsLogprobs } from "../events/service-tier.ts";
import { dropTier } from "../translate/sent-tier.ts";
import { geminiForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { geminiSchemas } from "../translate/schemas/rules.ts";
import { sendAnswerSchema } from "../translate/schemas/sent-schema.ts";
import { dropExtensions } from "../translate/extensions.ts";
import {
  FormatParameters,
  ParameterObject,
  writtenElsewhere,
  firstStops,
  noField,
  whereSupported,
} from "../translate/parameters.ts";
import { type TranslationContext, supportsParameter } from "../translate/context.ts";
import { buildContents } from "./messages.ts";
import { thinkingConfig } from "./reasoning.ts";
import { geminiToolSettings } from "./tools.ts";
import { dropAddition } from "../translate/additions.ts";

export function geminiBody(request: TurnRequest, target: Target, onDropped: OnDropped): string {
  const translation: TranslationContext = { target, tools: SentTools.of(request, geminiForm), onDropped };
  const { tools, toolConfig } = geminiToolSettings(request, translation);
  const { system, contents } = buildContents(request, translation);
  const sampling = new ParameterObject();
  parameters.write(request, target, onDropped, sampling);
  const generationConfig: JsonObject = {
    ...sampling.members,
    ...logprobs(request, translation),
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

/**
 * Parameters with Google's names and limits (https://ai.google.dev/api/generate-content#GenerationConfig). Most models
 * answer 400 to the penalties.
 */
const parameters = new FormatParameters({
  max_output_tokens: "maxOutputTokens",
  temperature: "temperature",
  top_p: "topP",
  top_k: "topK",
  frequency_penalty: whereSupported("frequencyPenalty"),
  presence_penalty: whereSupported("presencePenalty"),
  top_logprobs: writtenElsewhere,
  stop: firstStops("stopSequences", 5),
  seed: {
    name: "seed",
    fit: (seed, { path, onDropped }) => {
      if ((seed | 0) === seed) return seed;
      onDropped(path, "the format takes 32 bits");
      return undefined;
    },
  },
});

/** Settings for log probabilities. Most models answer 400 to them, so they are sent only if `supported_parameters` names them. */
function logprobs(request: TurnRequest, { target, onDropped }: TranslationContext): JsonObject {
  if (!wantsLogprobs(request)) return {};
  if (supportsParameter(target, "top_logprobs")) return { responseLogprobs: true, logprobs: request.topLogprobs };
  const reason = "the endpoint does not support it";
  if (request.topLogprobs !== undefined) onDropped("top_logprobs", reason);
  else dropAddition(request, "message.output_text.logprobs", onDropped, reason);
  return {};
}

function outputFormat(format: TextFormat | undefined, onDropped: OnDropped): JsonObject {
  if (format === undefined || format.type === "text") return {};
  const responseMimeType = "application/json";
  if (format.type === "json_object") return { responseMimeType };
  if (format.description !== undefined) onDropped("text.format.description", noField);
  return { responseMimeType, responseJsonSchema: sendAnswerSchema(format, geminiSchemas, onDropped).schema };
}

/** Google's names for the fields of `image_config` (https://ai.google.dev/gemini-api/docs/image-generation). */
const imageFields: Readonly<Record<string, string>> = { aspect_ratio: "aspectRatio", image_size: "imageSize" };

function images({ outputModalities, imageConfigJson }: TurnRequest, onDropped: OnDropped): JsonObject {
  if (!outputModalities.includes("image")) {
    if (imageConfigJson !== undefined) onDropped("image_config", "no images were asked for");
    return {};
  }
  const settings = Object.entries(imageConfigJson === undefined ? {} : (JSON.parse(imageConfigJson) as JsonObject));
  for (const [field] of settings) {
    if (imageFields[field] === undefined) onDropped(`image_config.${field}`, noField);
  }
  const known = settings.flatMap(([field, value]) =>
    imageFields[field] === undefined ? [] : [[imageFields[field], value]],
  );
  return {
    responseModalities: outputModalities.map((modality) => modality.toUpperCase()),
    ...(known.length > 0 && { imageConfig: Object.fromEntries(known) as JsonObject }),
  };
}

/** The service tier in Google's terms; Google sells only these tiers (https://ai.google.dev/gemini-api/docs/optimization). */
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
    if (value !== undefined) onDropped(path, noField);
  }
  dropExtensions(request, onDropped, []);
  if (request.cacheControl) onDropped("cache_control", "the provider caches by itself");
  if (request.identityField) onDropped(request.identityField, noField);
}
