/** Opens the search engines the configuration file lists. */
import { type SearchEngineId, type SearchSettings, searchEngines } from "@sluice/proto/config/web.js";
import type { OpenMeter } from "../../../models/ledger/service-meter.ts";
import { MeteredClient } from "../../../services/metered-client.ts";
import { ServiceClient } from "../../../services/service-client.ts";
import { PageEngine, type ReadPage } from "../page-engine.ts";
import { type SearchAdapter, SearchEngine, type SearchEngineDeps } from "../search-engine.ts";
import { brave } from "./brave.ts";
import { exa, exaPages } from "./exa.ts";
import { firecrawl, firecrawlPages } from "./firecrawl.ts";
import { parallel, parallelPages } from "./parallel.ts";
import { perplexity } from "./perplexity.ts";
import { searxng } from "./searxng.ts";
import { tavily } from "./tavily.ts";

interface EngineKind {
  /** Header field for the API key; when absent, the key is sent as a bearer token. */
  readonly keyField?: string;
  readonly adapter: (service: MeteredClient) => SearchAdapter;
  /** Makes the reader of pages; absent when the vendor reads no pages. */
  readonly pages?: (service: MeteredClient) => ReadPage;
}

const kinds: Readonly<Record<SearchEngineId, EngineKind>> = {
  searxng: { adapter: ({ get }) => searxng(get) },
  tavily: { adapter: ({ post }) => tavily(post) },
  brave: { keyField: "x-subscription-token", adapter: ({ get }) => brave(get) },
  exa: { keyField: "x-api-key", adapter: ({ post }) => exa(post), pages: ({ post }) => exaPages(post) },
  firecrawl: { adapter: ({ post }) => firecrawl(post), pages: ({ post }) => firecrawlPages(post) },
  perplexity: { adapter: ({ post }) => perplexity(post) },
  parallel: { keyField: "x-api-key", adapter: ({ post }) => parallel(post), pages: ({ post }) => parallelPages(post) },
};

/** Settings of an engine with its prices for searches and pages. */
interface PricedSettings {
  readonly timeout_ms: number;
  readonly pricing?: { readonly request?: string | undefined; readonly page?: string | undefined } | undefined;
}

export interface OpenedEngine {
  readonly engine: SearchEngine;
  readonly pages: PageEngine | undefined;
  readonly service: ServiceClient;
}

export interface SearchVendorDeps extends Omit<SearchEngineDeps, "timeoutMs"> {
  readonly meter: OpenMeter;
}

/** Opens the engines in the order of the list of all engines; the first is the default unless another is configured. */
export const openEngines = (
  { engines }: SearchSettings,
  userAgent: string,
  { meter, ...parts }: SearchVendorDeps,
): readonly OpenedEngine[] =>
  searchEngines.flatMap((id) => {
    const settings = engines[id];
    if (settings === undefined) return [];
    const { keyField, adapter, pages } = kinds[id];
    const service = new ServiceClient({ ...settings, ...(keyField !== undefined && { keyField }) }, userAgent);
    const { timeout_ms: timeoutMs, pricing = {} }: PricedSettings = settings;
    const paid = (operation: "search" | "fetch", price: string | undefined) =>
      new MeteredClient(service, meter({ operation, model: `${operation}/${id}`, provider: id, price }));
    const engine = new SearchEngine(id, adapter(paid("search", pricing.request)), { ...parts, timeoutMs });
    const reading = pages && new PageEngine(id, pages(paid("fetch", pricing.page)), { timeoutMs, log: parts.log });
    return [{ service, engine, pages: reading }];
  });
