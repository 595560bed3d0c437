/** Writes `usage` of a completion: the tokens of a turn and their cost. */
import type { Usage } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { chargeMembers, totalCost } from "@sluice/proto/lib/responses/charges.js";

/** `usage` as JSON; `null` when no usage is known. */
export function completionUsageJson(value: Usage | undefined): string {
  if (!value) return "null";
  return (
    `{"prompt_tokens":${value.inputTokens},"completion_tokens":${value.outputTokens}` +
    `,"total_tokens":${value.inputTokens + value.outputTokens}` +
    `,"prompt_tokens_details":{"cached_tokens":${value.cachedTokens},"cache_write_tokens":${value.cacheWriteTokens}}` +
    `,"completion_tokens_details":{"reasoning_tokens":${value.reasoningTokens}}${chargeMembers(value)}}`
  );
}

/** Usage of an answer that was not delivered: sums without details. */
export const withheldCompletionUsageJson = ({ inputTokens, outputTokens, cost }: Usage): string =>
  `{"prompt_tokens":${inputTokens},"completion_tokens":${outputTokens},"total_tokens":${inputTokens + outputTokens}` +
  `${cost ? `,"cost":${totalCost(cost)}` : ""}}`;
