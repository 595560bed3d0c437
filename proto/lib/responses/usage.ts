/** Writes the member `usage` of a response: the tokens of a turn and their cost. */
import type { Usage } from "../../gen/sluice/inference/v1/turn_pb.ts";
import { chargeMembers, totalCost } from "./charges.ts";

/** JSON of the usage; `null` when it is unknown. */
export function usageJson(value: Usage | undefined): string {
  if (!value) return "null";
  return (
    `{"input_tokens":${value.inputTokens}` +
    `,"input_tokens_details":{"cached_tokens":${value.cachedTokens},"cache_write_tokens":${value.cacheWriteTokens}}` +
    `,"output_tokens":${value.outputTokens},"output_tokens_details":{"reasoning_tokens":${value.reasoningTokens}}` +
    `,"total_tokens":${value.inputTokens + value.outputTokens}${chargeMembers(value)}}`
  );
}

/** JSON of the usage of an answer that a guardrail withheld: sums without details. */
export const withheldUsageJson = ({ inputTokens, outputTokens, cost }: Usage): string =>
  `{"input_tokens":${inputTokens},"output_tokens":${outputTokens},"total_tokens":${inputTokens + outputTokens}` +
  `${cost ? `,"cost":${totalCost(cost)}` : ""}}`;
