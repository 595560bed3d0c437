/** The figures of a Responses answer. */
import type { ServerToolUse, Usage } from "../../turn/turn.ts";
import { type JsonObject, count, isObject } from "../json.ts";

export function responsesUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const input = isObject(value.input_tokens_details) ? value.input_tokens_details : {};
  const output = isObject(value.output_tokens_details) ? value.output_tokens_details : {};
  const inputTokens = count(value.input_tokens);
  const outputTokens = count(value.output_tokens);
  return {
    inputTokens,
    outputTokens,
    cachedTokens: Math.min(inputTokens, count(input.cached_tokens)),
    cacheWriteTokens: Math.min(inputTokens, count(input.cache_write_tokens)),
    reasoningTokens: Math.min(outputTokens, count(output.reasoning_tokens)),
    ...(isObject(value.server_tool_use_details) && { serverToolUse: toolUse(value.server_tool_use_details) }),
  };
}

const toolUse = ({ web_search_requests, tool_calls_requested, tool_calls_executed }: JsonObject): ServerToolUse => ({
  ...(web_search_requests !== undefined && { webSearchRequests: count(web_search_requests) }),
  ...(tool_calls_requested !== undefined && { toolCallsRequested: count(tool_calls_requested) }),
  ...(tool_calls_executed !== undefined && { toolCallsExecuted: count(tool_calls_executed) }),
});
