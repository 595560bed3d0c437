/** Lowers the maximum length of an answer to what the model of an endpoint can write. */
import { estimateInputTokens, measureInput } from "../../estimate/tokens.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { DroppedField } from "../../../turn/trace.ts";
import type { Endpoint } from "../catalog.ts";

/** Tokens left for the answer when the input fills the context window: providers refuse a maximum below their own minimum. */
export const minAnswerTokens = 256;

/**
 * Lowers the requested maximum to that of the model.
 * @param losses gets a note when the maximum is lowered
 */
export function limitAnswer(request: TurnRequest, endpoint: Endpoint, losses: DroppedField[]): TurnRequest {
  const { maxOutputTokens: requestedTokens } = request;
  const { contextLength, maxOutputTokens: largest = contextLength } = endpoint;
  if (requestedTokens === undefined || requestedTokens <= largest) return request;
  const room = contextLength - estimateInputTokens(measureInput(request), endpoint.model);
  const maxOutputTokens = Math.min(largest, Math.max(minAnswerTokens, room));
  losses.push({ path: "max_output_tokens", reason: `sent as ${maxOutputTokens}: the model writes no more` });
  return { ...request, maxOutputTokens };
}
