/** Search engine Exa (https://exa.ai/docs/reference/search, https://exa.ai/docs/reference/get-contents). */
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

/** Value of Exa's maximum age in hours with which no page is fetched for a search, whatever its age in the cache. */
const neverFresh = -1;

export const exa = (post: MeteredPost): SearchAdapter => ({
  knows: {
    modes: ["instant", "fast", "auto", "deep-lite", "deep", "deep-reasoning"],
    cachedOnly: true,
    place: { country: isCountryCode },
  },
  maxPages: 1,
  async page({ query, maxResults, contentLength, domains, wishes }, _, limits) {
    const { mode, place = {}, cachedOnly } = wishes;
    const { allowed, blocked } = applicableDomains(domains, { allowed: 1_200, blocked: 1_200 });
    const body = {
      query,
      type: mode ?? "auto",
      numResults: maxResults,
      ...(place.country !== undefined && { userLocation: place.country.toUpperCase() }),
      ...(allowed.length > 0 && { includeDomains: allowed }),
      ...(blocked.length > 0 && { excludeDomains: blocked }),
      contents: { highlights: { maxCharacters: contentLength }, ...(cachedOnly && { maxAgeHours: neverFresh }) },
    };
    const answer = await post("/search", JSON.stringify(body), limits);
    const results = parseResults(answer, ({ results: found }) => found);
    return parseHits(results, ({ highlights }) =>
      Array.isArray(highlights) ? (highlights as readonly unknown[]) : [],
    );
  },
});

interface Failed {
  readonly error?: { readonly httpStatusCode?: unknown } | null;
}

export const exaPages =
  (post: MeteredPost): ReadPage =>
  async (url, limits) => {
    const body = {
      urls: [url],
      text: { maxCharacters: maxPageUnits },
      livecrawlTimeout: Math.ceil(limits.timeoutMs),
    };
    const { results, statuses } = parseAnswerBody(await post("/contents", JSON.stringify(body), limits));
    const page = firstObjectOf(results);
    if (page["text"] === undefined) throw unreadablePage((firstObjectOf(statuses) as Failed).error?.httpStatusCode);
    return { url: page["url"], title: page["title"], text: page["text"] };
  };
