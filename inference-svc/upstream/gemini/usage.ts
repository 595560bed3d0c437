/** The figures of an answer: a stream says them again and again, and the later ones count. */
import type { Usage } from "../../turn/turn.ts";
import { type JsonObject, count, isObject } from "../json.ts";

export class GeminiUsage {
  #figures: JsonObject | undefined;

  read(value: unknown): void {
    if (isObject(value)) this.#figures = { ...this.#figures, ...value };
  }

  get tier(): unknown {
    return this.#figures?.serviceTier === "standard" ? "default" : this.#figures?.serviceTier;
  }

  /**
   * What tools of the provider found is input that is counted beside the prompt; thoughts are output that is counted beside the answer.
   * @param searches that the provider made
   */
  usage(searches: number): Usage | undefined {
    const figures = this.#figures;
    if (!figures) return undefined;
    const inputTokens = count(count(figures.promptTokenCount) + count(figures.toolUsePromptTokenCount));
    const reasoningTokens = count(figures.thoughtsTokenCount);
    return {
      inputTokens,
      cachedTokens: Math.min(inputTokens, count(figures.cachedContentTokenCount)),
      cacheWriteTokens: 0,
      outputTokens: count(count(figures.candidatesTokenCount) + reasoningTokens),
      reasoningTokens,
      ...(searches > 0 && { serverToolUse: { webSearchRequests: searches } }),
    };
  }
}
