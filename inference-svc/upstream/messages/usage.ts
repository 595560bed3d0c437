/** The figures of a Messages answer: a stream says them twice, and the later ones count. */
import type { Usage } from "../../turn/turn.ts";
import { type JsonObject, count, isObject } from "../json.ts";

export class MessagesUsage {
  #figures: JsonObject | undefined;

  /** @param value cumulative figures; what is null in them has been said before */
  read(value: unknown): void {
    if (!isObject(value)) return;
    const said = Object.entries(value).filter(([, figure]) => figure !== null && figure !== undefined);
    this.#figures = { ...this.#figures, ...Object.fromEntries(said) };
  }

  get tier(): unknown {
    // "batch" cannot be asked for from here.
    return this.#figures?.service_tier === "standard" ? "default" : this.#figures?.service_tier;
  }

  /** Cached tokens are reported beside the others here; in a response they are among them. */
  get usage(): Usage | undefined {
    const figures = this.#figures;
    if (!figures) return undefined;
    const cachedTokens = count(figures.cache_read_input_tokens);
    const cacheWriteTokens = count(figures.cache_creation_input_tokens);
    const outputTokens = count(figures.output_tokens);
    const details = isObject(figures.output_tokens_details) ? figures.output_tokens_details : {};
    const tools = isObject(figures.server_tool_use) ? figures.server_tool_use : {};
    const webSearchRequests = count(tools.web_search_requests);
    const written = isObject(figures.cache_creation) ? figures.cache_creation : {};
    const cacheWriteHourTokens = Math.min(cacheWriteTokens, count(written.ephemeral_1h_input_tokens));
    return {
      inputTokens: count(count(figures.input_tokens) + cachedTokens + cacheWriteTokens),
      cachedTokens,
      cacheWriteTokens,
      ...(cacheWriteHourTokens > 0 && { cacheWriteHourTokens }),
      outputTokens,
      reasoningTokens: Math.min(outputTokens, count(details.thinking_tokens)),
      ...(webSearchRequests > 0 && { serverToolUse: { webSearchRequests } }),
    };
  }
}
