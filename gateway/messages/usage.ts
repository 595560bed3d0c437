/** Writes `usage` of a message. */
import type { Cost, Usage } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { dollars } from "@sluice/proto/runtime/money.js";

/** Tokens before the provider has counted. @param inputTokens an estimate */
export const startUsageJson = (inputTokens: number): string =>
  `{"input_tokens":${inputTokens},"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}`;

/** The format counts cached tokens apart from the input. */
export function messageUsageJson(usage: Usage | undefined): string {
  if (!usage) return startUsageJson(0);
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, serverToolUse, cost } = usage;
  const searches = serverToolUse?.webSearchRequests ?? 0;
  return (
    `{"input_tokens":${Math.max(0, inputTokens - cachedTokens - cacheWriteTokens)}` +
    `,"cache_creation_input_tokens":${cacheWriteTokens},"cache_read_input_tokens":${cachedTokens}` +
    `,"output_tokens":${outputTokens}` +
    (searches > 0 ? `,"server_tool_use":{"web_search_requests":${searches}}` : "") +
    (usage.estimated ? ',"is_estimated":true' : "") +
    (cost ? `,"cost":${dollars(totalOf(cost))}` : "") +
    "}"
  );
}

const totalOf = ({ inputPicoUsd, outputPicoUsd, serverToolsPicoUsd }: Cost): bigint =>
  inputPicoUsd + outputPicoUsd + serverToolsPicoUsd;
