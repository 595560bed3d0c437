/** Converts a turn to the body of POST /v2/chat (https://docs.cohere.com/reference/chat). */
import type { TextFormat, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { ObjectWriter, Verbatim, objectJson } from "../json.ts";
import type { TranslationContext } from "../translate/context.ts";
import { dropExtensions } from "../translate/extensions.ts";
import { FormatParameters, firstStops, noField, clampedTo } from "../translate/parameters.ts";
import { dropTier } from "../translate/sent-tier.ts";
import { cohereSchemas } from "../translate/schemas/rules.ts";
import { sendAnswerSchema } from "../translate/schemas/sent-schema.ts";
import { cohereForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { cohereMessages } from "./messages.ts";
import { cohereThinking } from "./reasoning.ts";
import { addCohereTools } from "./tools.ts";
import { dropAddition } from "../translate/additions.ts";

export function cohereBody(request: TurnRequest, target: Target, onDropped: OnDropped): string {
  const translation: TranslationContext = { target, tools: SentTools.of(request, cohereForm), onDropped };
  const body = new ObjectWriter();
  body.add("model", target.upstreamModel);
  body.add("stream", request.stream);
  body.add("messages", cohereMessages(request, translation));
  addCohereTools(body, request, translation);
  if (request.textFormat) body.add("response_format", responseFormat(request.textFormat, onDropped));
  parameters.write(request, target, onDropped, body);
  body.add("thinking", cohereThinking(request, translation));
  dropUnsupported(request, target, onDropped);
  return body.end();
}

/** Parameters with Cohere's names and limits (https://docs.cohere.com/reference/chat). */
const parameters = new FormatParameters({
  max_output_tokens: "max_tokens",
  temperature: clampedTo("temperature", 0, 1),
  top_p: clampedTo("p", 0.01, 0.99),
  top_k: clampedTo("k", 0, 500),
  frequency_penalty: clampedTo("frequency_penalty", 0, 1),
  presence_penalty: clampedTo("presence_penalty", 0, 1),
  stop: firstStops("stop_sequences", 5),
  seed: {
    name: "seed",
    fit: (seed, { path, onDropped }) => {
      if (seed >= 0) return seed;
      onDropped(path, "the format takes no negative number");
      return undefined;
    },
  },
});

function responseFormat(format: TextFormat, onDropped: OnDropped): Verbatim | undefined {
  if (format.type === "text") return undefined;
  if (format.type === "json_object") return new Verbatim('{"type":"json_object"}');
  if (format.description !== undefined) onDropped("text.format.description", noField);
  return new Verbatim(
    objectJson({ type: "json_object", json_schema: sendAnswerSchema(format, cohereSchemas, onDropped).schema }),
  );
}

function dropUnsupported(request: TurnRequest, { tier }: Target, onDropped: OnDropped): void {
  const drop = (path: string, value: unknown, reason = noField): void => {
    if (value !== undefined) onDropped(path, reason);
  };
  drop("text.verbosity", request.verbosity);
  drop("image_config", request.imageConfigJson);
  drop("prompt_cache_key", request.promptCacheKey);
  drop("prompt_cache_options", request.promptCacheOptionsJson);
  drop("max_tool_calls", request.maxToolCalls);
  drop("cache_control", request.cacheControl, "the provider caches by itself");
  dropExtensions(request, onDropped, []);
  if (request.identityField) drop(request.identityField, request.identityHash);
  dropTier(request.serviceTier, tier, onDropped);
  if (tier !== "default") onDropped("service_tier", `the format has no tier called ${tier}`);
  dropAddition(request, "message.output_text.logprobs", onDropped);
}
