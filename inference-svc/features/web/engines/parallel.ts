/** Search engine Parallel (https://docs.parallel.ai/api-reference/search/search, https://docs.parallel.ai/api-reference/extract/extract). */
import type { MeteredPost } from "../../../services/metered-client.ts";
import { type ReadPage, maxPageUnits } from "../page-engine.ts";
import type { SearchAdapter } from "../search-engine.ts";
import { isCountryCode } from "../search-options.ts";
import {
  parseAnswerBody,
  firstObjectOf,
  parseHits,
  parseResults,
  unreadablePage,
} from "../../../services/search-answers.ts";
import { applicableDomains } from "./domain-filters.ts";

/** Maximum characters of a search query; longer ones are rejected. The separate field `objective` has the whole text. */
const maxQueryLength = 200;

export const parallel = (post: MeteredPost): SearchAdapter => ({
  knows: { modes: ["turbo", "fast", "basic", "advanced"], place: { country: isCountryCode } },
  maxPages: 1,
  async page({ query, maxResults, contentLength, domains, wishes: { mode, place = {} } }, _, limits) {
    const { allowed, blocked } = applicableDomains(domains, { allowed: 200, blocked: 200, onlyOne: true });
    const policy = {
      ...(allowed.length > 0 && { include_domains: allowed }),
      ...(blocked.length > 0 && { exclude_domains: blocked }),
    };
    const body = {
      objective: query,
      search_queries: [Array.from(query).slice(0, maxQueryLength).join("")],
      mode: mode ?? "basic",
      advanced_settings: {
        max_results: maxResults,
        excerpt_settings: { max_chars_per_result: contentLength },
        ...(place.country !== undefined && { location: place.country.toLowerCase() }),
        ...(Object.keys(policy).length > 0 && { source_policy: policy }),
      },
    };
    const answer = await post("/search", JSON.stringify(body), limits);
    const results = parseResults(answer, ({ results: found }) => found);
    return parseHits(results, ({ excerpts }) => (Array.isArray(excerpts) ? (excerpts as readonly unknown[]) : []));
  },
});

export const parallelPages =
  (post: MeteredPost): ReadPage =>
  async (url, limits) => {
    const body = {
      urls: [url],
      advanced_settings: { full_content: { max_chars_per_result: maxPageUnits } },
    };
    const { results, errors } = parseAnswerBody(await post("/extract", JSON.stringify(body), limits));
    const page = firstObjectOf(results);
    if (page["full_content"] === undefined) throw unreadablePage(firstObjectOf(errors)["http_status_code"]);
    return { url: page["url"], title: page["title"], text: page["full_content"] };
  };
