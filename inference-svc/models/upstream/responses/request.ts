/** Converts a turn to the body of POST /responses. */
import type { Reasoning, SchemaFormat, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type JsonObject, ObjectWriter, Verbatim, objectJson } from "../json.ts";
import { sentInput } from "./messages.ts";
import { addResponsesTools } from "./tools.ts";
import { compatibleSchemas } from "../translate/schemas/compatible-rules.ts";
import { type VendorSchemas, openaiSchemas } from "../translate/schemas/rules.ts";
import { sendAnswerSchema } from "../translate/schemas/sent-schema.ts";
import { WeakCache, cacheByObject } from "../translate/weak-cache.ts";
import { dropExtensions } from "../translate/extensions.ts";
import { FormatParameters, allParameters } from "../translate/parameters.ts";
import { openAiTier } from "../translate/sent-tier.ts";
import { asksForSummary, knownEffort } from "../translate/reasoning-effort.ts";
import { isVendor } from "./vendor.ts";

export function responsesBody(request: TurnRequest, target: Target, onDropped: OnDropped): string {
  const body = new ObjectWriter();
  body.add("model", target.upstreamModel);
  const { instructions, items } = sentInput(request, target, onDropped);
  body.add("input", items);
  body.add("instructions", instructions);
  body.add("stream", request.stream);
  // Providers must not store requests of Sluice.
  body.add("store", false);
  (isVendor(target) ? vendorParameters : otherParameters).write(request, target, onDropped, body);
  addResponsesTools(body, request, target, onDropped);
  body.add("max_tool_calls", request.maxToolCalls);
  body.add("truncation", request.truncation);
  body.add("text", textSettings(request, target, onDropped));
  if (request.include.length > 0) body.add("include", request.include);
  body.add("prompt_cache_key", request.promptCacheKey);
  body.add("prompt_cache_options", verbatim(request.promptCacheOptionsJson));
  if (isVendor(target)) addVendorSettings(body, request, onDropped);
  else addOtherSettings(body, request, target, onDropped);
  body.add("service_tier", openAiTier(request, target, isVendor(target), onDropped));
  return body.end();
}

const verbatim = (json: string | undefined): Verbatim | undefined =>
  json === undefined ? undefined : new Verbatim(json);

const notKnown = "the provider does not know it";

const vendorParameters = new FormatParameters(
  {
    max_output_tokens: "max_output_tokens",
    temperature: "temperature",
    top_p: "top_p",
    top_logprobs: "top_logprobs",
  },
  notKnown,
);

const otherParameters = new FormatParameters(allParameters);

/** Adds parameters of Sluice's API that OpenAI's format lacks, for servers that ignore unknown names. */
function addOtherSettings(body: ObjectWriter, request: TurnRequest, target: Target, onDropped: OnDropped): void {
  const { reasoning, cacheControl } = request;
  if (request.identityField) onDropped(request.identityField, "the endpoint is not known to take it");
  if (reasoning?.summary === "omitted") onDropped("reasoning.summary", "the format has no field for it");
  if (reasoning)
    body.add(
      "reasoning",
      reasoningSettings(knownReasoning(reasoning, target, onDropped), reasoning.maxTokens, onDropped),
    );
  if (cacheControl) body.add("cache_control", { type: "ephemeral", ttl: cacheControl.ttl });
  body.add("prediction", verbatim(request.predictionJson));
  body.add("anthropic_betas", request.anthropicBetas);
  body.add("context_management", verbatim(request.contextManagementJson));
  body.add("image_config", verbatim(request.imageConfigJson));
  if (request.outputModalities.length > 0) body.add("modalities", request.outputModalities);
}

/** Adds settings for OpenAI, which answers 400 to parameters its reference of POST /responses lacks. */
function addVendorSettings(body: ObjectWriter, request: TurnRequest, onDropped: OnDropped): void {
  const drop = (path: string, value: unknown): void => {
    if (value !== undefined) onDropped(path, notKnown);
  };
  drop("reasoning.max_tokens", request.reasoning?.maxTokens);
  // OpenAI's own form of this setting is an array.
  const edits = request.contextManagementJson;
  const takesEdits = edits?.startsWith("[") === true;
  dropExtensions(request, onDropped, takesEdits ? ["context_management"] : [], notKnown);
  if (takesEdits) body.add("context_management", verbatim(edits));
  // OpenAI caches beginnings automatically, and uses prompt_cache_breakpoint on parts for marks.
  drop("cache_control", request.cacheControl);
  drop("image_config", request.imageConfigJson);
  // OpenAI always answers with text; images come from a tool.
  drop(
    "modalities",
    request.outputModalities.find((modality) => modality !== "text"),
  );
  // OpenAI shows no reasoning unless a summary is requested.
  if (request.reasoning) body.add("reasoning", reasoningSettings(request.reasoning, undefined, onDropped));
  body.add("safety_identifier", request.identityHash);
}

function textSettings(request: TurnRequest, target: Target, onDropped: OnDropped): Verbatim | undefined {
  const { textFormat: format, verbosity } = request;
  if (format === undefined && verbosity === undefined) return undefined;
  const schemas = isVendor(target) ? openaiSchemas : compatibleSchemas(target);
  const formats = schemas ? formatsOf(schemas) : schemaFormat;
  const text = new ObjectWriter();
  if (format) text.add("format", format.type === "json_schema" ? formats.of(format, onDropped) : { type: format.type });
  text.add("verbosity", verbosity);
  return new Verbatim(text.end());
}

const schemaFormat = new WeakCache(
  ({ type, name, description, strict, schemaJson }: SchemaFormat) =>
    new Verbatim(objectJson({ type, name, description, strict, schema: new Verbatim(schemaJson) })),
);

const formatsOf = cacheByObject(
  (schemas: VendorSchemas) =>
    new WeakCache((format: SchemaFormat, onDropped) => {
      const { type, name, description } = format;
      const { schema, strict } = sendAnswerSchema(format, schemas, onDropped);
      return new Verbatim(objectJson({ type, name, description, strict: format.strict && strict, schema }));
    }),
);

function knownReasoning(reasoning: Reasoning, target: Target, onDropped: OnDropped): Reasoning {
  const { effort } = reasoning;
  if (effort === undefined) return reasoning;
  return { ...reasoning, effort: knownEffort({ value: effort, path: "reasoning.effort" }, target, onDropped) };
}

/** Settings of reasoning. @param maxTokens undefined if the target does not take it */
function reasoningSettings(
  { effort, summary, context, mode }: Reasoning,
  maxTokens: number | undefined,
  onDropped: OnDropped,
): JsonObject | undefined {
  if (summary === "updates") onDropped("reasoning.summary", "sent as auto: the format has no updates");
  const asked = summary === "updates" ? "auto" : asksForSummary(summary) ? summary : undefined;
  const settings = { effort, summary: asked, context, mode, max_tokens: maxTokens };
  return Object.values(settings).every((value) => value === undefined) ? undefined : settings;
}
