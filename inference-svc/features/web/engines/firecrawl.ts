/**
 * Firecrawl (https://docs.firecrawl.dev/api-reference/endpoint/search, https://docs.firecrawl.dev/api-reference/endpoint/scrape). A search does not read
 * the found pages: that would cost as much again for each.
 */
import type { MeteredPost } from "../../../services/metered-client.ts";
import type { ReadPage } from "../page-engine.ts";
import type { SearchAdapter } from "../search-engine.ts";
import { isCountryCode } from "../search-options.ts";
import { parseAnswerBody, parseHits, parseResults, unreadablePage } from "../../../services/search-answers.ts";
import { applicableDomains } from "./domain-filters.ts";

/** Longer queries are rejected. */
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
    // A search without any result has no list.
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

/** Shorter time limits (in milliseconds) are rejected. */
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
    // Firecrawl answers 200 for the error pages of sites, too.
    if (markdown === undefined || Number(statusCode) >= 300) throw unreadablePage(statusCode);
    return { url: found, title, text: markdown };
  };
