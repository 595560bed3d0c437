/**
 * Search engine SearXNG, a metasearch engine (https://docs.searxng.org/dev/search_api.html). Its own settings must
 * allow JSON, or it answers 403.
 */
import type { MeteredGet } from "../../../services/metered-client.ts";
import type { SearchAdapter } from "../search-engine.ts";
import { parseHits, toSingleLine, parseResults } from "../../../services/search-answers.ts";
import { withSites } from "./sites.ts";

export const searxng = (get: MeteredGet): SearchAdapter => ({
  knows: {},
  maxPages: 2,
  async page(search, number, limits) {
    const query = new URLSearchParams({ q: withSites(search), format: "json", pageno: String(number) });
    const answer = await get(`/search?${query.toString()}`, limits);
    return parseHits(
      parseResults(answer, ({ results }) => results),
      ({ content }) => [toSingleLine(content)],
    );
  },
});
