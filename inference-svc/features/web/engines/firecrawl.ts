/**
 * Search engine Firecrawl (https://docs.firecrawl.dev/api-reference/endpoint/search,
 * https://docs.firecrawl.dev/api-reference/endpoint/scrape). A search does not read the pages found, because each would
 * cost as much as the search.
 */
import type { MeteredPost } from "../../../services/metered-client.ts";
import type { ReadPage } from "../page-engine.ts";
import type { SearchAdapter } from "../search-engine.ts";
import { isCountryCode } from "../search-options.ts";
import { parseAnswerBody, parseHits, parseResults, unreadablePage } from "../../../services/search-answers.ts";
import { applicableDomains } from "./domain-filters.ts";

/** Maximum characters of a query; Firecrawl rejects longer ones. */
const maxQueryLength = 500;

export const firecrawl = (post: MeteredPost): SearchAdapter => ({
  knows: { place: { city: isFilled, region: isFilled, country: isCountryCode } },
  maxPages: 1,
  async page({ query, maxResults, domains, wishes: { place = {} } }, _, limits) {
    const { city, region, country } = place;
    const { allowed, blocked } = applicableDomains(domains, { allowed: 100, blocked: 100, onlyOne: true });
    const location = [city, region].filter((name) => name !== undefined).join(",");
    const body = {
      query: query.slice(0, maxQueryLength),
      limit: maxResults,
      sources: [{ type: "web" }],
      timeout: Math.ceil(limits.timeoutMs),
      ...(location !== "" && { location }),
      ...(country !== undefined && { country: country.toUpperCase() }),
      ...(allowed.length > 0 && { includeDomains: allowed }),
      ...(blocked.length > 0 && { excludeDomains: blocked }),
    };
    const answer = await post("/search", JSON.stringify(body), limits);
    // The answer has no list when nothing was found.
    const results = parseResults(
      answer,
      ({ data }) => (data as { readonly web?: unknown } | null | undefined)?.web ?? [],
    );
    return parseHits(results, ({ description }) => [description]);
  },
});

function isFilled(value: string): boolean {
  return value !== "" && value.length <= 100;
}

/** Minimum time limit in milliseconds; Firecrawl rejects shorter ones. */
const minTimeoutMs = 1_000;

interface Scraped {
  readonly markdown?: unknown;
  readonly metadata?: { readonly title?: unknown; readonly url?: unknown; readonly statusCode?: unknown } | null;
}

export const firecrawlPages =
  (post: MeteredPost): ReadPage =>
  async (url, limits) => {
    const body = { url, formats: ["markdown"], timeout: Math.max(minTimeoutMs, Math.ceil(limits.timeoutMs)) };
    const { data } = parseAnswerBody(await post("/scrape", JSON.stringify(body), limits));
    const { markdown, metadata } = (data ?? {}) as Scraped;
    const { title, url: found, statusCode } = metadata ?? {};
    // Firecrawl also answers 200 when the site returned an error page.
    if (markdown === undefined || Number(statusCode) >= 300) throw unreadablePage(statusCode);
    return { url: found, title, text: markdown };
  };
