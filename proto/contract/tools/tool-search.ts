/** Anthropic's own tool searches (https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool). */

export const isAnthropicSearch = (name: unknown): name is string =>
  typeof name === "string" && /^tool_search_tool_(?:regex|bm25)\b/.test(name);

/** The input of this search tool: a pattern or words. */
export const searchInput = (tool: string, query: unknown): Readonly<Record<string, unknown>> =>
  tool.includes("regex") ? { pattern: query } : { query };
