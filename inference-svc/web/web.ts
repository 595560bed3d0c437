/** The web as the house file lets it be reached: who searches it, and what of it is read. */
import type { SearchSettings, WebFetchSettings } from "@sluice/proto/runtime/house/web.js";
import type { TurnSignal } from "../turn/signal.ts";
import { Service } from "../upstream/service.ts";
import { Fetcher } from "./fetcher.ts";
import { type Page, type PageLimits, Pages } from "./pages.ts";
import type { Readers } from "./readers.ts";
import { type Hit, type Search, SearchEngine } from "./search.ts";
import { searxng } from "./searxng.ts";
import type { Resolve } from "./target.ts";

/** How something that was asked of the web ended; failed: refused ones, too. */
export type WebOutcome = "answered" | "failed" | "cancelled";

/** Hears of each search and fetch as it begins; what it returns hears of its end. */
export type WebWatch = (kind: "search" | "fetch") => (outcome: WebOutcome) => void;

export interface WebParts {
  /** Of the house, for the user agent. */
  readonly version: string;
  readonly watch: WebWatch;
  readonly readers: Readers;
  readonly resolve: Resolve;
  /** Milliseconds. */
  readonly now: () => number;
}

export interface WebSettings {
  readonly search: SearchSettings;
  readonly fetch: WebFetchSettings;
}

export class Web {
  readonly #watch: WebWatch;
  readonly #pages: Pages;
  readonly #services: readonly Service[];
  readonly #engines: ReadonlyMap<string, SearchEngine>;
  readonly #default: string;

  constructor({ search, fetch }: WebSettings, { version, watch, readers, resolve, now }: WebParts) {
    const userAgent = `sluice/${version}`;
    const believed = new Set(fetch.allow_private_origins);
    this.#watch = watch;
    this.#pages = new Pages(new Fetcher({ userAgent, resolve, believed }), readers);
    this.#default = search.default;
    const { searxng: settings } = search.engines;
    const service = settings && new Service(settings, userAgent);
    this.#services = service ? [service] : [];
    this.#engines = new Map(
      settings && service
        ? [["searxng", new SearchEngine("searxng", searxng(service.get), { timeoutMs: settings.timeout_ms, now })]]
        : [],
    );
  }

  /** @param name empty: the one that the house file names; undefined when it has none */
  engine(name: string): SearchEngine | undefined {
    return this.#engines.get(name || this.#default);
  }

  /** @throws NoSearch; Fault when the turn is over */
  search(engine: SearchEngine, search: Search, signal: TurnSignal): Promise<readonly Hit[]> {
    return this.#watched("search", signal, () => engine.search(search, signal));
  }

  /** @throws Unread; Fault when the turn is over */
  read(url: string, limits: PageLimits, signal: TurnSignal): Promise<Page> {
    return this.#watched("fetch", signal, () => this.#pages.read(url, limits, signal));
  }

  /** Nobody new asks here. */
  retire(): void {
    for (const service of this.#services) service.retire();
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await Promise.all(this.#services.map((service) => service.close()));
  }

  async #watched<Result>(kind: "search" | "fetch", signal: TurnSignal, work: () => Promise<Result>): Promise<Result> {
    const ended = this.#watch(kind);
    try {
      const result = await work();
      ended("answered");
      return result;
    } catch (error) {
      ended(signal.aborted ? "cancelled" : "failed");
      throw error;
    }
  }
}
