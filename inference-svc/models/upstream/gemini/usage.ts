/** Usage of a Gemini answer. A stream repeats it, and the last figures count. */
import type { Usage } from "../../../turn/usage.ts";
import { mergeFigures } from "../events/usage-figures.ts";
import { type JsonObject, parseCount, isObject } from "../json.ts";

export class GeminiUsage {
  #figures: JsonObject | undefined;

  read(value: unknown): void {
    if (isObject(value)) this.#figures = mergeFigures(this.#figures, value);
  }

  get tier(): unknown {
    return this.#figures?.serviceTier === "standard" ? "default" : this.#figures?.serviceTier;
  }

  /**
   * The usage. Gemini counts results of its own tools apart from the prompt, and reasoning apart from the answer; both
   * are added.
   * @param searches number of searches Google has run
   */
  usage(searches: number): Usage | undefined {
    const figures = this.#figures;
    if (!figures) return undefined;
    const reasoningTokens = parseCount(figures.thoughtsTokenCount);
    return {
      inputTokens: parseCount(parseCount(figures.promptTokenCount) + parseCount(figures.toolUsePromptTokenCount)),
      cachedTokens: parseCount(figures.cachedContentTokenCount),
      cacheWriteTokens: 0,
      outputTokens: parseCount(parseCount(figures.candidatesTokenCount) + reasoningTokens),
      reasoningTokens,
      ...(searches > 0 && { serverToolUse: { webSearchRequests: searches } }),
    };
  }
}
