/** A turn as the body of POST /v2/chat (https://docs.cohere.com/reference/chat). */
import type { TextFormat, TurnRequest } from "../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { ObjectWriter, Verbatim, objectJson } from "../json.ts";
import type { TranslationContext } from "../translate/context.ts";
import { boundStops, dropExtensions } from "../translate/extensions.ts";
import { dropTier } from "../translate/sent-tier.ts";
import { cohereSchemas } from "../translate/schemas/rules.ts";
import { sendAnswerSchema } from "../translate/schemas/sent-schema.ts";
import { SentTools } from "../translate/tool-names.ts";
import { cohereMessages } from "./messages.ts";
import { cohereThinking } from "./reasoning.ts";
import { addCohereTools } from "./tools.ts";
import { dropAddition } from "../translate/additions.ts";

export function cohereBody(request: TurnRequest, target: Target, onDropped: OnDropped): string {
  const translation: TranslationContext = { target, tools: SentTools.of(request, true), onDropped };
  const body = new ObjectWriter();
  body.add("model", target.upstreamModel);
  body.add("stream", request.stream);
  body.add("messages", cohereMessages(request, translation));
  addCohereTools(body, request, translation);
  if (request.textFormat) body.add("response_format", responseFormat(request.textFormat, onDropped));
  body.add("max_tokens", request.maxOutputTokens);
  for (const { path, name, min, max, value } of samplers(request)) {
    body.add(name, bounded(path, value, min, max, onDropped));
  }
  body.add("stop_sequences", boundStops(request.stop, maxStops, onDropped));
  body.add("seed", seedOf(request, onDropped));
  body.add("thinking", cohereThinking(request, translation));
  dropUnsupported(request, target, onDropped);
  return body.end();
}

/** https://docs.cohere.com/reference/chat */
const maxStops = 5;

function seedOf({ seed }: TurnRequest, onDropped: OnDropped): number | undefined {
  if (seed === undefined || seed >= 0) return seed;
  onDropped("seed", "the format takes no negative number");
  return undefined;
}

/** Cohere answers 400 to a number outside of these bounds. */
const samplers = (request: TurnRequest) => [
  { path: "temperature", name: "temperature", min: 0, max: 1, value: request.temperature },
  { path: "top_p", name: "p", min: 0.01, max: 0.99, value: request.topP },
  { path: "top_k", name: "k", min: 0, max: 500, value: request.topK },
  { path: "frequency_penalty", name: "frequency_penalty", min: 0, max: 1, value: request.frequencyPenalty },
  { path: "presence_penalty", name: "presence_penalty", min: 0, max: 1, value: request.presencePenalty },
];

function bounded(path: string, value: number | undefined, min: number, max: number, onDropped: OnDropped) {
  if (value === undefined || (value >= min && value <= max)) return value;
  const sent = value > max ? max : min;
  onDropped(path, `sent as ${sent}, the ${value > max ? "maximum" : "minimum"}`);
  return sent;
}

function responseFormat(format: TextFormat, onDropped: OnDropped): Verbatim | undefined {
  if (format.type === "text") return undefined;
  if (format.type === "json_object") return new Verbatim('{"type":"json_object"}');
  if (format.description !== undefined) onDropped("text.format.description", "the format has no field for it");
  return new Verbatim(
    objectJson({ type: "json_object", json_schema: sendAnswerSchema(format, cohereSchemas, onDropped).schema }),
  );
}

function dropUnsupported(request: TurnRequest, { tier }: Target, onDropped: OnDropped): void {
  const drop = (path: string, value: unknown, reason = "the format has no field for it"): void => {
    if (value !== undefined) onDropped(path, reason);
  };
  drop("text.verbosity", request.verbosity);
  drop("image_config", request.imageConfigJson);
  drop("prompt_cache_key", request.promptCacheKey);
  drop("prompt_cache_options", request.promptCacheOptionsJson);
  drop("max_tool_calls", request.maxToolCalls);
  drop("top_logprobs", request.topLogprobs);
  drop("cache_control", request.cacheControl, "the provider caches by itself");
  dropExtensions(request, onDropped, ["stop", "seed"]);
  if (request.identityField) drop(request.identityField, request.identityHash);
  dropTier(request.serviceTier, tier, onDropped);
  if (tier !== "default") onDropped("service_tier", `the format has no tier called ${tier}`);
  dropAddition(request, "message.output_text.logprobs", onDropped);
  dropAddition(request, "reasoning.encrypted_content", onDropped);
}
