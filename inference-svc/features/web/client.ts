/** Web search and page fetches, within the limits of the configuration file. */
import type { SearchSettings, WebFetchSettings } from "@sluice/proto/config/web.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { observeCall, type WebWatch } from "../../services/guarded-service.ts";
import type { OpenMeter, ServiceCaller } from "../../models/ledger/service-meter.ts";
import type { Permissions } from "../../turn/permissions.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import type { DocumentReaders } from "../../content/files/documents/readers.ts";
import type { ServiceClient } from "../../services/service-client.ts";
import { anyDomain } from "../../services/public-web/domains.ts";
import { Fetcher } from "./fetcher.ts";
import { PageCache } from "./page-cache.ts";
import type { Page } from "./page.ts";
import type { PageEngine } from "./page-engine.ts";
import { type PageLimits, Pages } from "./pages.ts";
import type { PageReaders } from "./page-readers.ts";
import { openEngines } from "./engines/engines.ts";
import type { Search, SearchEngine } from "./search-engine.ts";
import type { Resolve } from "../../services/public-web/fetch-target.ts";
import type { SearchHit } from "../../services/search-answers.ts";
import type { DownloadedFile } from "../../content/downloads.ts";

export interface WebDependencies {
  /** Version of Sluice, for the user agent. */
  readonly version: string;
  readonly watch: WebWatch;
  readonly meter: OpenMeter;
  readonly readers: PageReaders;
  readonly documents: Pick<DocumentReaders, "read">;
  readonly resolve: Resolve;
  /** Returns the time in milliseconds. */
  readonly now: () => number;
  readonly log: Pick<Logger, "warn">;
}

export interface WebSettings {
  readonly search: SearchSettings;
  readonly fetch: WebFetchSettings;
}

export class Web {
  readonly #watch: WebWatch;
  readonly #pages: Pages;
  readonly #services: readonly ServiceClient[];
  readonly #engines: ReadonlyMap<string, SearchEngine>;
  readonly #pageEngines: ReadonlyMap<string, PageEngine>;
  readonly #default: string;

  constructor(
    { search, fetch }: WebSettings,
    { version, watch, meter, readers, documents, resolve, now, log }: WebDependencies,
  ) {
    const userAgent = `sluice/${version}`;
    const trusted = new Set(fetch.allow_private_origins);
    this.#watch = watch;
    const fetcher = new Fetcher({ userAgent, resolve, trustedOrigins: trusted });
    this.#pages = new Pages({ fetcher, readers, documents, cache: new PageCache(now) });
    const opened = openEngines(search, userAgent, { meter, now, log });
    this.#services = opened.map(({ service }) => service);
    this.#engines = new Map(opened.map(({ engine }) => [engine.id, engine]));
    this.#pageEngines = new Map(opened.flatMap(({ pages }) => (pages ? [[pages.id, pages]] : [])));
    this.#default = search.default ?? opened[0]?.engine.id ?? "";
  }

  /**
   * @param name name of the engine; empty for the default engine
   * @param permissions permissions of the key: if they forbid the default engine, the first engine they allow is used
   * instead
   * @returns undefined for an engine that is not configured, or that the permissions forbid
   */
  engine(name: string, permissions?: Permissions): SearchEngine | undefined {
    const engine = this.#engines.get(name || this.#default);
    if (permissions === undefined || engine === undefined) return engine;
    const isPermitted = ({ id }: SearchEngine) => permissions.allows("searchEngines", id);
    return (name === "" ? [engine, ...this.#engines.values()] : [engine]).find(isPermitted);
  }

  /**
   * The engine with which a vendor reads pages. @returns undefined without a configured key of the vendor, if the
   * vendor reads no pages, or if the permissions forbid the engine
   */
  pageEngine(name: string, permissions?: Permissions): PageEngine | undefined {
    return permissions?.allows("searchEngines", name) === false ? undefined : this.#pageEngines.get(name);
  }

  /** Searches the web. @throws SearchUnavailable; Fault when the turn is over, or when the budget forbids the search */
  search(engine: SearchEngine, search: Search, caller: ServiceCaller): Promise<readonly SearchHit[]> {
    return observeCall(this.#watch("search"), caller.signal, () => engine.search(search, caller));
  }

  /** Reads a page. @throws PageUnreadable; Fault when the turn is over, or when the budget forbids the page */
  read(url: string, limits: PageLimits, caller: ServiceCaller): Promise<Page> {
    return observeCall(this.#watch("fetch"), caller.signal, () => this.#pages.read(url, limits, caller));
  }

  /** Downloads a file. @throws PageUnreadable; Fault when the turn is over */
  download(url: string, signal: TurnSignal): Promise<DownloadedFile> {
    return observeCall(this.#watch("fetch"), signal, () => this.#pages.download(url, anyDomain, signal));
  }

  /** Lets running calls finish, and closes idle connections. */
  retire(): void {
    for (const service of this.#services) service.retire();
  }

  /** Waits for running calls. */
  async close(): Promise<void> {
    await Promise.all(this.#services.map((service) => service.close()));
  }
}
