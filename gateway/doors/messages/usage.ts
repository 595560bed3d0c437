/** Writes `usage` of a message, with every figure of Anthropic's own answers that Sluice knows. */
import type { Cost, Usage } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { toDollars } from "@sluice/proto/lib/ledger/money.js";

/** Usage at the beginning of a stream, before the provider has counted. @param inputTokens an estimate */
export const startUsageJson = (inputTokens: number): string =>
  `{"input_tokens":${inputTokens},"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}`;

/** Names of service tiers in the Messages format, by their names in a turn. */
const tierNames: Readonly<Record<string, string>> = { "": "standard", default: "standard" };

/** `usage` as JSON. The Messages format counts cached tokens separately from the input.  @param tier the tier that served the request, once known */
export function messageUsageJson(usage: Usage | undefined, tier?: string): string {
  if (!usage) return startUsageJson(0);
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, serverToolUse, cost } = usage;
  const { cacheWriteHourTokens: hour = 0, reasoningTokens } = usage;
  const searches = serverToolUse?.webSearchRequests ?? 0;
  return (
    `{"input_tokens":${Math.max(0, inputTokens - cachedTokens - cacheWriteTokens)}` +
    `,"cache_creation_input_tokens":${cacheWriteTokens},"cache_read_input_tokens":${cachedTokens}` +
    `,"cache_creation":{"ephemeral_5m_input_tokens":${cacheWriteTokens - hour},"ephemeral_1h_input_tokens":${hour}}` +
    `,"output_tokens":${outputTokens},"output_tokens_details":{"thinking_tokens":${reasoningTokens}}` +
    (tier === undefined ? "" : `,"service_tier":${JSON.stringify(tierNames[tier] ?? tier)}`) +
    (searches > 0 ? `,"server_tool_use":{"web_search_requests":${searches}}` : "") +
    (usage.estimated ? ',"is_estimated":true' : "") +
    (cost ? `,"cost":${toDollars(totalOf(cost))}` : "") +
    "}"
  );
}

const totalOf = ({ inputPicoUsd, outputPicoUsd, serverToolsPicoUsd }: Cost): bigint =>
  inputPicoUsd + outputPicoUsd + serverToolsPicoUsd;
