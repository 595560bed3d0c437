/** Searches the web with any engine. Domain filters are applied here as well, in case the engine ignores them. */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { GuardedService } from "../../services/guarded-service.ts";
import type { ServiceCaller } from "../../models/ledger/service-meter.ts";
import type { MeteredLimits } from "../../services/metered-client.ts";
import { type Domains, isAllowed } from "../../services/public-web/domains.ts";
import { parseUrl } from "../../turn/url.ts";
import { type SupportedSearchOptions, type SearchOptions, selectSupportedOptions } from "./search-options.ts";
import { type SearchHit, SearchUnavailable, SearchRefused } from "../../services/search-answers.ts";

export interface Search {
  readonly query: string;
  readonly maxResults: number;
  readonly domains: Domains;
  /** Maximum UTF-16 units of each result's text. */
  readonly contentLength: number;
  readonly wishes: SearchOptions;
}

/** The part of a search that differs from engine to engine. */
export interface SearchAdapter {
  readonly knows: SupportedSearchOptions;
  /** Maximum pages of results per search; each is paid for. */
  readonly maxPages: number;
  /**
   * Fetches one page of results. The search contains only options the engine supports.
   * @param number number of the page, from 1
   * @throws SearchRefused; Error without a readable response
   */
  page(search: Search, number: number, limits: MeteredLimits): Promise<readonly SearchHit[]>;
}

export interface SearchEngineDeps {
  /** Milliseconds for a search with all its pages of results. */
  readonly timeoutMs: number;
  /** Returns the time in milliseconds. */
  readonly now: () => number;
  readonly log: Pick<Logger, "warn">;
}

export class SearchEngine {
  readonly id: string;
  readonly knows: SupportedSearchOptions;
  readonly #adapter: SearchAdapter;
  readonly #timeoutMs: number;
  readonly #service: GuardedService;

  constructor(id: string, adapter: SearchAdapter, { timeoutMs, now, log }: SearchEngineDeps) {
    this.id = id;
    this.knows = adapter.knows;
    this.#adapter = adapter;
    this.#timeoutMs = timeoutMs;
    this.#service = new GuardedService({
      name: "the search engine",
      warning: "web search failed",
      fields: { engine: id },
      Unavailable: SearchUnavailable,
      refusal: (error) => (error instanceof SearchRefused ? "the search engine does not take this search" : undefined),
      now,
      log,
    });
  }

  /**
   * Searches the web. Each page is returned once, best first.
   * @throws SearchUnavailable; Fault when the turn is over, or when the budget forbids the search
   */
  async search(search: Search, caller: ServiceCaller): Promise<readonly SearchHit[]> {
    this.#service.check();
    const until = performance.now() + this.#timeoutMs;
    const supported = { ...search, wishes: selectSupportedOptions(search.wishes, this.knows) };
    const hits = new Map<string, SearchHit>();
    for (let number = 1; number <= this.#adapter.maxPages && hits.size < search.maxResults; number++) {
      const found = await this.#page(supported, number, caller, until);
      if (found.length === 0) break;
      for (const hit of found) {
        const url = toCanonicalUrl(hit.url);
        if (url && isAllowed(search.domains, new URL(url)) && !hits.has(url)) hits.set(url, hit);
      }
    }
    return [...hits.values()].slice(0, search.maxResults);
  }

  #page(
    search: Search,
    number: number,
    { scope, signal }: ServiceCaller,
    until: number,
  ): Promise<readonly SearchHit[]> {
    const timeoutMs = Math.max(1, until - performance.now());
    return this.#service.run(signal, () => this.#adapter.page(search, number, { scope, signal, timeoutMs }));
  }
}

/** Normalizes a URL, so all URLs of a page become equal. @returns undefined for anything but http and https */
export function toCanonicalUrl(text: string): string | undefined {
  const url = parseUrl(text);
  if (url === undefined) return undefined;
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  url.hash = "";
  const marks = [...url.searchParams].filter(([name]) => /^utm_/i.test(name));
  for (const [name] of marks) url.searchParams.delete(name);
  return url.href.replace(/\/$/, "");
}
