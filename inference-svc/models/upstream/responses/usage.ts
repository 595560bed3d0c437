/** Usage of a Responses answer. */
import type { ServerToolUse, Usage } from "../../../turn/usage.ts";
import { type JsonObject, parseCount, isObject } from "../json.ts";

export function responsesUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const input = isObject(value.input_tokens_details) ? value.input_tokens_details : {};
  const output = isObject(value.output_tokens_details) ? value.output_tokens_details : {};
  return {
    inputTokens: parseCount(value.input_tokens),
    outputTokens: parseCount(value.output_tokens),
    cachedTokens: parseCount(input.cached_tokens),
    cacheWriteTokens: parseCount(input.cache_write_tokens),
    reasoningTokens: parseCount(output.reasoning_tokens),
    ...(isObject(value.server_tool_use_details) && { serverToolUse: toolUse(value.server_tool_use_details) }),
  };
}

const toolUse = ({ web_search_requests, tool_calls_requested, tool_calls_executed }: JsonObject): ServerToolUse => ({
  ...(web_search_requests !== undefined && { webSearchRequests: parseCount(web_search_requests) }),
  ...(tool_calls_requested !== undefined && { toolCallsRequested: parseCount(tool_calls_requested) }),
  ...(tool_calls_executed !== undefined && { toolCallsExecuted: parseCount(tool_calls_executed) }),
});
