/** Converts a turn to the body of POST /chat/completions. */
import type { SchemaFormat, TextFormat, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { ObjectWriter, Verbatim, objectJson } from "../json.ts";
import { wantsLogprobs } from "../events/service-tier.ts";
import { chatMessages } from "./messages.ts";
import { addChatReasoning } from "./reasoning.ts";
import { openAiForm, plainForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { addChatTools } from "./tools.ts";
import { type TranslationContext, supportsParameter } from "../translate/context.ts";
import { dropExtensions } from "../translate/extensions.ts";
import { FormatParameters, commonParameters, writtenElsewhere, firstStops } from "../translate/parameters.ts";
import { openAiTier } from "../translate/sent-tier.ts";
import { compatibleSchemas } from "../translate/schemas/compatible-rules.ts";
import type { VendorSchemas } from "../translate/schemas/rules.ts";
import { sendAnswerSchema } from "../translate/schemas/sent-schema.ts";
import { WeakCache, cacheByObject } from "../translate/weak-cache.ts";

export function chatBody(request: TurnRequest, target: Target, onDropped: OnDropped): string {
  const translation: TranslationContext = {
    target,
    tools: SentTools.of(request, target.original ? openAiForm : plainForm),
    onDropped,
  };
  const body = new ObjectWriter();
  body.add("model", target.upstreamModel);
  body.add("messages", chatMessages(request, translation));
  body.add("stream", request.stream);
  if (request.stream && target.streamOptions !== false) body.add("stream_options", withUsage);
  (target.original ? vendorParameters : otherParameters).write(request, target, onDropped, body);
  if (wantsLogprobs(request)) body.add("logprobs", true);
  if (wantsLogprobs(request)) body.add("top_logprobs", request.topLogprobs);
  addChatTools(body, request, translation);
  if (request.textFormat) body.add("response_format", responseFormat(request.textFormat, translation));
  addChatReasoning(body, request, translation);
  if (target.original) addVendorSettings(body, request, translation);
  else addOtherSettings(body, request, translation);
  dropExtensions(request, onDropped, taken);
  body.add("service_tier", openAiTier(request, target, target.original, onDropped));
  return body.end();
}

const notKnown = "the vendor of the format does not know it";

/**
 * Parameters of OpenAI's own endpoint. Their names are newer; it answers 400 to unknown names and to more stop
 * sequences (https://platform.openai.com/docs/api-reference/chat/create).
 */
const vendorParameters = new FormatParameters(
  {
    max_output_tokens: "max_completion_tokens",
    temperature: "temperature",
    top_p: "top_p",
    frequency_penalty: "frequency_penalty",
    presence_penalty: "presence_penalty",
    top_logprobs: writtenElsewhere,
    stop: firstStops("stop", 4),
    seed: "seed",
    logit_bias: "logit_bias",
  },
  notKnown,
);

const otherParameters = new FormatParameters({
  ...commonParameters,
  max_output_tokens: "max_tokens",
  top_logprobs: writtenElsewhere,
});

const taken = ["prediction"] as const;

const withUsage = new Verbatim('{"include_usage":true}');
const jsonObject = new Verbatim('{"type":"json_object"}');

function responseFormat(format: TextFormat, { target, tools, onDropped }: TranslationContext): Verbatim | undefined {
  if (format.type === "text") return undefined;
  if (format.type === "json_object") {
    // Groq refuses JSON mode with tools: "`response_format` json_object cannot be combined with tool/function calling"
    // (agno-agi/agno issue 1065).
    const isRefused = target.vendor === "groq" && tools.list.length > 0;
    return format.isInstructed && isRefused ? undefined : jsonObject;
  }
  const schemas = compatibleSchemas(target);
  return (schemas ? formatsOf(schemas) : schemaFormat).of(format, onDropped);
}

const formatOf = ({ type, name, description }: SchemaFormat, strict: boolean | undefined, schema: Verbatim) =>
  new Verbatim(objectJson({ type, json_schema: new Verbatim(objectJson({ name, description, strict, schema })) }));

const schemaFormat = new WeakCache((format: SchemaFormat) =>
  formatOf(format, format.strict, new Verbatim(format.schemaJson)),
);
const formatsOf = cacheByObject(
  (schemas: VendorSchemas) =>
    new WeakCache((format: SchemaFormat, onDropped) => {
      const { schema, strict } = sendAnswerSchema(format, schemas, onDropped);
      return formatOf(format, format.strict && strict, schema);
    }),
);

const verbatim = (json: string | undefined): Verbatim | undefined =>
  json === undefined ? undefined : new Verbatim(json);

/** Replacements for levels of verbosity above high, which OpenAI does not take. */
const vendorVerbosity: Readonly<Record<string, string>> = { xhigh: "high", max: "high" };

/** Adds settings for OpenAI's own endpoint, which has newer names for parameters, and answers 400 to unknown names. */
function addVendorSettings(body: ObjectWriter, request: TurnRequest, { onDropped }: TranslationContext): void {
  if (request.imageConfigJson !== undefined) onDropped("image_config", notKnown);
  const { verbosity = "" } = request;
  const level = vendorVerbosity[verbosity];
  if (level !== undefined) onDropped("text.verbosity", `sent as ${level}`);
  body.add("verbosity", level ?? request.verbosity);
  body.add("prompt_cache_key", request.promptCacheKey);
  body.add("prompt_cache_options", verbatim(request.promptCacheOptionsJson));
  body.add("prediction", verbatim(request.predictionJson));
  body.add("safety_identifier", request.identityHash);
}

/** Adds settings for other servers. Parameters newer than the first years of the format are sent only if `supported_parameters` names them. */
function addOtherSettings(body: ObjectWriter, request: TurnRequest, { target, onDropped }: TranslationContext): void {
  const addNewer = (name: string, value: unknown, path = name): void => {
    if (value === undefined || supportsParameter(target, name)) body.add(name, value);
    else onDropped(path, "the endpoint does not support it");
  };
  if (request.identityField) onDropped(request.identityField, "the endpoint is not known to take it");
  const draws = request.outputModalities.includes("image");
  if (request.imageConfigJson !== undefined && !draws) onDropped("image_config", "no images were asked for");
  addNewer("verbosity", request.verbosity, "text.verbosity");
  addNewer("prompt_cache_key", request.promptCacheKey);
  addNewer("prompt_cache_options", verbatim(request.promptCacheOptionsJson));
  addNewer("prediction", verbatim(request.predictionJson));
  if (!draws) return;
  body.add("modalities", request.outputModalities);
  body.add("image_config", verbatim(request.imageConfigJson));
}
