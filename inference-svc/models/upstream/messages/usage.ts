/** Usage of a Messages answer: a stream reports it twice, and the later figures count. */
import type { Usage } from "../../../turn/usage.ts";
import { mergeFigures } from "../events/usage-figures.ts";
import { type JsonObject, parseCount, isObject, objects } from "../json.ts";

export class MessagesUsage {
  #figures: JsonObject | undefined;

  /** @param value cumulative figures */
  read(value: unknown): void {
    if (isObject(value)) this.#figures = mergeFigures(this.#figures, value);
  }

  /** The figures as the provider gave them. */
  get figures(): JsonObject | undefined {
    return this.#figures;
  }

  /** The provider's calls for a summary of the conversation. Their tokens are billed and not among those of the message. */
  get summaries(): readonly JsonObject[] {
    return objects(this.#figures?.iterations).filter(({ type }) => type === "compaction");
  }

  get tier(): unknown {
    // "batch" is never requested by Sluice.
    return this.#figures?.service_tier === "standard" ? "default" : this.#figures?.service_tier;
  }

  /** Anthropic counts cached tokens apart from the input; in the contract they are part of it. */
  get usage(): Usage | undefined {
    const figures = this.#figures;
    if (!figures) return undefined;
    const counts = [figures, ...this.summaries];
    const sumOf = (count: (each: JsonObject) => number): number =>
      counts.reduce((sum, each) => parseCount(sum + count(each)), 0);
    const cachedTokens = sumOf((each) => parseCount(each.cache_read_input_tokens));
    const cacheWriteTokens = sumOf((each) => parseCount(each.cache_creation_input_tokens));
    const inputTokens = sumOf((each) => parseCount(each.input_tokens));
    const details = isObject(figures.output_tokens_details) ? figures.output_tokens_details : {};
    const tools = isObject(figures.server_tool_use) ? figures.server_tool_use : {};
    const webSearchRequests = parseCount(tools.web_search_requests);
    const cacheWriteHourTokens = sumOf(hourTokens);
    return {
      inputTokens: parseCount(inputTokens + cachedTokens + cacheWriteTokens),
      cachedTokens,
      cacheWriteTokens,
      ...(cacheWriteHourTokens > 0 && { cacheWriteHourTokens }),
      outputTokens: sumOf((each) => parseCount(each.output_tokens)),
      reasoningTokens: parseCount(details.thinking_tokens),
      ...(webSearchRequests > 0 && { serverToolUse: { webSearchRequests } }),
    };
  }
}

function hourTokens({ cache_creation: written, cache_creation_input_tokens: all }: JsonObject): number {
  return isObject(written) ? Math.min(parseCount(all), parseCount(written.ephemeral_1h_input_tokens)) : 0;
}
