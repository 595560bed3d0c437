/** Search engine Perplexity (https://docs.perplexity.ai/api-reference/search-post). */
import type { MeteredPost } from "../../../services/metered-client.ts";
import type { SearchAdapter } from "../search-engine.ts";
import { isCountryCode } from "../search-options.ts";
import { parseHits, parseResults } from "../../../services/search-answers.ts";
import { applicableDomains } from "./domain-filters.ts";

const maxResults = 20;
const maxDomains = 20;
/** UTF-16 units per token, an average over the languages of the web. A result that is longer than its limit is cut here. */
const unitsPerToken = 4;

export const perplexity = (post: MeteredPost): SearchAdapter => ({
  knows: { place: { country: isCountryCode } },
  maxPages: 1,
  async page({ query, maxResults: wanted, contentLength, domains, wishes: { place = {} } }, _, limits) {
    const { allowed, blocked } = applicableDomains(domains, {
      allowed: maxDomains,
      blocked: maxDomains,
      onlyOne: true,
    });
    const filter = [...allowed, ...blocked.map((host) => `-${host}`)];
    const body = {
      query,
      max_results: Math.min(wanted, maxResults),
      max_tokens_per_page: Math.ceil(contentLength / unitsPerToken),
      ...(place.country !== undefined && { country: place.country.toUpperCase() }),
      ...(filter.length > 0 && { search_domain_filter: filter }),
    };
    const answer = await post("/search", JSON.stringify(body), limits);
    return parseHits(
      parseResults(answer, ({ results }) => results),
      ({ snippet }) => [snippet],
    );
  },
});
