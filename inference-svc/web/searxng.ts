/** SearXNG, which asks many engines (https://docs.searxng.org/dev/search_api.html). It must be set to answer in JSON; else it says 403. */
import type { Get } from "../upstream/service.ts";
import type { Hit, Search, Wire } from "./search.ts";

export const searxng = (get: Get): Wire => ({
  async page(search, number, limits) {
    const query = new URLSearchParams({ q: wordsOf(search), format: "json", pageno: String(number) });
    const { status, body } = await get(`/search?${query.toString()}`, limits);
    if (status !== 200) throw new Error(`status ${status}`);
    return hitsOf(JSON.parse(body));
  },
});

/** Most of the engines that it asks know this. */
function wordsOf({ query, domains: { allowed, blocked } }: Search): string {
  const hostOf = (pattern: string) => pattern.replace(/^https?:\/\//i, "").replace(/^\*\./, "");
  const only = allowed.map((pattern) => `site:${hostOf(pattern)}`).join(" OR ");
  return [query, only, ...blocked.map((pattern) => `-site:${hostOf(pattern)}`)].filter((word) => word !== "").join(" ");
}

/** @throws Error for what is no answer */
function hitsOf(answer: unknown): readonly Hit[] {
  const { results } = answer as { readonly results?: unknown };
  if (!Array.isArray(results)) throw new Error("no results");
  return results.flatMap((result: Partial<Record<keyof Hit, unknown>> | null) =>
    typeof result?.url === "string" && result.url.length <= longestUrl
      ? [{ url: result.url, title: textOf(result.title), content: textOf(result.content) }]
      : [],
  );
}

/** What clients and models are told as a link. */
const longestUrl = 2_048;

const textOf = (value: unknown): string => (typeof value === "string" ? value.replaceAll(/\s+/g, " ").trim() : "");
