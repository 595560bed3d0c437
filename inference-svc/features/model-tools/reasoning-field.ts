/** Reads the parameter `reasoning` of tools that call models. */
import type { Reasoning } from "../../turn/request.ts";

export interface ReasoningField {
  readonly effort?: string | null;
  readonly max_tokens?: number | null;
}

/** @returns undefined when the parameter sets nothing */
export function readToolReasoning({ effort, max_tokens: maxTokens }: ReasoningField = {}): Reasoning | undefined {
  if (effort == null && maxTokens == null) return undefined;
  return { ...(effort != null && { effort }), ...(maxTokens != null && { maxTokens }) };
}
