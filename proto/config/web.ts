/** `search` and `fetch`: search engines, and the addresses that the fetcher may read. */
import { z } from "zod";
import { callPricing, searchAndPagePricing } from "./scalars.ts";

const address = z.url({ protocol: /^https?$/ });
const timeLimit = z.int().min(1).max(60_000);

const searxng = z.strictObject({
  base_url: address.describe(
    "Base URL of your own instance, without /search. Its settings must allow the format json.",
  ),
  timeout_ms: timeLimit.default(5_000).describe("Time limit of one search."),
  pricing: callPricing("search").optional(),
});

/**
 * Settings of a search engine with an API key. @param pagesPath path for reading pages (service:web_fetch); empty when
 * the vendor cannot read pages
 */
const vendor = (baseUrl: string, { path = "/search", pagesPath = "" } = {}) =>
  z.strictObject({
    api_key: z.string().min(1).describe("Your key at the vendor."),
    base_url: address
      .default(baseUrl)
      .describe(`Base URL without ${[path, pagesPath].filter((each) => each !== "").join(" and ")}.`),
    timeout_ms: timeLimit
      .default(10_000)
      .describe(pagesPath === "" ? "Time limit of one search." : "Time limit of one search, and of one page."),
    pricing: callPricing("search").optional(),
  });

/** Settings of a vendor that also reads pages for service:web_fetch. */
const reader = (baseUrl: string, pagesPath: string) =>
  vendor(baseUrl, { pagesPath }).extend({
    pricing: searchAndPagePricing.optional(),
  });

const engines = z.strictObject({
  searxng: searxng.optional(),
  tavily: vendor("https://api.tavily.com").optional(),
  brave: vendor("https://api.search.brave.com/res/v1", { path: "/web/search" }).optional(),
  exa: reader("https://api.exa.ai", "/contents").optional(),
  firecrawl: reader("https://api.firecrawl.dev/v2", "/scrape").optional(),
  perplexity: vendor("https://api.perplexity.ai").optional(),
  parallel: reader("https://api.parallel.ai/v1", "/extract").optional(),
});

export type SearchEngineId = keyof z.infer<typeof engines>;

/** Search engines that `search.engines` can configure; a request for any other engine is refused. */
export const searchEngines = engines.keyof().options;

export const search = z.strictObject({
  default: z
    .enum(searchEngines)
    .optional()
    .describe("Engine of requests that name none; when absent, the first configured one in the order of the schema."),
  engines: engines
    .prefault({})
    .describe("Engines that Sluice can use; without an entry, only providers with their own search can search."),
});

const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text;

export const webFetch = z.strictObject({
  allow_private_origins: z
    .array(z.string().refine(isOrigin, "an origin such as http://wiki.internal:8080, without a path"))
    .max(100)
    .default([])
    .describe(
      "Exact origins (scheme, host and port) that may be fetched, and passed on to providers that fetch, in addition to the public internet. Any address that their hosts resolve to is trusted.",
    ),
});

export type SearchSettings = z.infer<typeof search>;
export type WebFetchSettings = z.infer<typeof webFetch>;
