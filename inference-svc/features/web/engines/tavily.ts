/**
 * Search engine Tavily (https://docs.tavily.com/documentation/api-reference/endpoint/search). It answers 432 and 433
 * when a plan's credits are spent.
 */
import type { MeteredPost } from "../../../services/metered-client.ts";
import type { SearchAdapter } from "../search-engine.ts";
import { parseHits, parseResults } from "../../../services/search-answers.ts";
import { countryName } from "./tavily-countries.ts";
import { applicableDomains } from "./domain-filters.ts";

const maxResults = 20;

export const tavily = (post: MeteredPost): SearchAdapter => ({
  knows: {
    modes: ["ultra-fast", "fast", "basic", "advanced"],
    place: { country: (code) => countryName(code) !== undefined },
  },
  maxPages: 1,
  async page({ query, maxResults: wanted, domains, wishes: { mode, place = {} } }, _, limits) {
    const { allowed, blocked } = applicableDomains(domains, { allowed: 300, blocked: 150 });
    const body = {
      query,
      max_results: Math.min(wanted, maxResults),
      // The depth "advanced" costs two credits, every other one credit.
      search_depth: mode ?? "basic",
      ...(place.country !== undefined && { country: countryName(place.country) }),
      ...(allowed.length > 0 && { include_domains: allowed }),
      ...(blocked.length > 0 && { exclude_domains: blocked }),
    };
    const answer = await post("/search", JSON.stringify(body), limits);
    return parseHits(
      parseResults(answer, ({ results }) => results),
      ({ content }) => [content],
    );
  },
});
