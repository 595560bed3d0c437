/** Usage of a Messages answer. A stream reports it twice, and the later figures count. */
import type { Usage } from "../../../turn/usage.ts";
import { mergeFigures } from "../events/usage-figures.ts";
import { type JsonObject, parseCount, isObject } from "../json.ts";

export class MessagesUsage {
  #figures: JsonObject | undefined;

  /** @param value figures for the answer so far */
  read(value: unknown): void {
    if (isObject(value)) this.#figures = mergeFigures(this.#figures, value);
  }

  get tier(): unknown {
    // The tier "batch" is never requested by Sluice.
    return this.#figures?.service_tier === "standard" ? "default" : this.#figures?.service_tier;
  }

  /** The usage in Sluice's terms. Anthropic counts cached tokens apart from the input; for Sluice they are part of it. */
  get usage(): Usage | undefined {
    const figures = this.#figures;
    if (!figures) return undefined;
    const cachedTokens = parseCount(figures.cache_read_input_tokens);
    const cacheWriteTokens = parseCount(figures.cache_creation_input_tokens);
    const details = isObject(figures.output_tokens_details) ? figures.output_tokens_details : {};
    const tools = isObject(figures.server_tool_use) ? figures.server_tool_use : {};
    const webSearchRequests = parseCount(tools.web_search_requests);
    const written = isObject(figures.cache_creation) ? figures.cache_creation : {};
    const cacheWriteHourTokens = Math.min(cacheWriteTokens, parseCount(written.ephemeral_1h_input_tokens));
    return {
      inputTokens: parseCount(parseCount(figures.input_tokens) + cachedTokens + cacheWriteTokens),
      cachedTokens,
      cacheWriteTokens,
      ...(cacheWriteHourTokens > 0 && { cacheWriteHourTokens }),
      outputTokens: parseCount(figures.output_tokens),
      reasoningTokens: parseCount(details.thinking_tokens),
      ...(webSearchRequests > 0 && { serverToolUse: { webSearchRequests } }),
    };
  }
}
