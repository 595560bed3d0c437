/** Search engine Brave Search (https://api-dashboard.search.brave.com/documentation/services/web-search). */
import type { MeteredGet } from "../../../services/metered-client.ts";
import type { SearchAdapter } from "../search-engine.ts";
import { type SearchLocation, isCountryCode, isPlainText } from "../search-options.ts";
import { parseHits, parseResults } from "../../../services/search-answers.ts";
import { withSites } from "./sites.ts";

const maxResults = 20;
/** Maximum characters of a query; Brave rejects longer ones. */
const maxQueryLength = 400;
const maxWords = 50;

export const brave = (get: MeteredGet): SearchAdapter => ({
  knows: { place: { city: isPlainText, region: isPlainText, country: isCountryCode, timezone: isPlainText } },
  maxPages: 2,
  async page({ wishes: { place = {} }, ...search }, number, limits) {
    const words = search.query.trim().split(/\s+/).slice(0, maxWords).join(" ");
    const query = new URLSearchParams({
      q: withSites({ ...search, query: words, wishes: {} }, { length: maxQueryLength, words: maxWords }),
      count: String(Math.min(search.maxResults, maxResults)),
      offset: String(number - 1),
      // Results of other kinds have no link to a page.
      result_filter: "web",
      // Brave's default marks the matched words with HTML.
      text_decorations: "false",
    });
    const answer = await get(`/web/search?${query.toString()}`, limits, fieldsOf(place));
    // The answer has no list when nothing was found.
    const results = parseResults(
      answer,
      ({ web = { results: [] } }) => (web as { readonly results?: unknown }).results,
    );
    return parseHits(results, ({ description, extra_snippets: more }) => [
      description,
      ...(Array.isArray(more) ? (more as readonly unknown[]) : []),
    ]);
  },
});

const fieldNames: Readonly<Record<keyof SearchLocation, string>> = {
  city: "x-loc-city",
  region: "x-loc-state-name",
  country: "x-loc-country",
  timezone: "x-loc-timezone",
};

const fieldsOf = (place: SearchLocation): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(place).map(([field, value]) => [fieldNames[field as keyof SearchLocation], value]));
