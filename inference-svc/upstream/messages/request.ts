/** A turn as the body of POST /messages. */
import type { TextFormat, TurnRequest } from "../../turn/request.ts";
import type { Lose, Target } from "../dialect.ts";
import { type JsonObject, Verbatim, jsonText } from "../json.ts";
import { SentTools } from "../tool-names.ts";
import type { Words } from "../words.ts";
import { CacheMarks } from "./cache-marks.ts";
import { conversation } from "./messages.ts";
import { samplers } from "./samplers.ts";
import { thinkingSettings } from "./reasoning.ts";
import { messagesTools, toolChoice } from "./tools.ts";

/** A limit is required there. Every model of the family can say as much. */
const defaultMaxTokens = 4_096;

export function messagesBody(request: TurnRequest, target: Target, lose: Lose): string {
  const words: Words = { target, tools: SentTools.of(request, true), lose };
  const marks = new CacheMarks(lose);
  const tools = messagesTools(request, words);
  const { system, messages } = conversation(request, words, marks);
  marks.finish(request.cacheControl, [...tools], system, messages);
  const limit = request.maxOutputTokens ?? target.maxOutputTokens ?? defaultMaxTokens;
  const choice = tools.length > 0 ? toolChoice(request, words) : undefined;
  const forced = choice?.type === "any" || choice?.type === "tool";
  const { thinking, effort } = thinkingSettings(request, words, { limit, forced, messages });
  const format = outputFormat(request.textFormat, lose);
  declareUnsaid(request, lose);
  return jsonText({
    model: target.upstreamModel,
    max_tokens: limit,
    stream: request.stream,
    ...(system.length > 0 && { system }),
    messages,
    ...(tools.length > 0 && { tools, tool_choice: choice }),
    thinking,
    ...((effort !== undefined || format) && { output_config: { effort, format } }),
    ...samplers(request, thinking !== undefined, lose),
    ...(request.identityHash !== undefined && { metadata: { user_id: request.identityHash } }),
    service_tier: serviceTier(target, lose),
  });
}

function outputFormat(format: TextFormat | undefined, lose: Lose): JsonObject | undefined {
  if (format?.type === "json_object") lose("text.format", "the format binds an answer to a schema only");
  if (format?.type !== "json_schema") return undefined;
  if (format.description !== undefined) lose("text.format.description", "the format has no words for it");
  return { type: "json_schema", schema: new Verbatim(format.schemaJson) };
}

/** Without a word the vendor decides; its priority is a contract of the operator's, not a price. */
function serviceTier({ tier }: Target, lose: Lose): string | undefined {
  if (tier !== "default" && tier !== "priority") lose("service_tier", `the format has no tier called ${tier}`);
  return tier === "priority" ? "auto" : undefined;
}

/** What no format of these has words for. */
export function declareUnsaid(request: TurnRequest, lose: Lose): void {
  const unsaid: Readonly<Record<string, unknown>> = {
    verbosity: request.verbosity,
    image_config: request.imageConfigJson,
    prompt_cache_key: request.promptCacheKey,
    max_tool_calls: request.maxToolCalls,
    top_logprobs: request.topLogprobs,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
  };
  for (const [path, value] of Object.entries(unsaid)) {
    if (value !== undefined) lose(path === "verbosity" ? "text.verbosity" : path, "the format has no words for it");
  }
  if (request.promptCacheOptionsJson?.includes('"ttl"')) {
    lose("prompt_cache_options.ttl", "a mark says itself how long it holds");
  }
  const logprobs = request.include.indexOf("message.output_text.logprobs");
  if (logprobs !== -1) lose(`include.${logprobs}`, "the format has no words for it");
}
