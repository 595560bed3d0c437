/**
 * Client of the operator's vector stores, which are searched in OpenAI's format
 * (https://platform.openai.com/docs/api-reference/vector-stores/search).
 */
import type { FileSearchSettings, VectorStoreSettings } from "@sluice/proto/config/file-search.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { GuardedService, observeCall, type WebWatch } from "../../services/guarded-service.ts";
import type { OpenMeter, ServiceCaller } from "../../models/ledger/service-meter.ts";
import { throwIfAborted } from "../../turn/abort.ts";
import { MeteredClient } from "../../services/metered-client.ts";
import { ServiceClient } from "../../services/service-client.ts";
import { parseResults, SearchRefused, SearchUnavailable } from "../../services/search-answers.ts";
import { type FileHit, parseFileHit } from "./file-hit.ts";

export interface FileQuery {
  readonly query: string;
  readonly maxResults: number;
  /** Settings of the tool the service gets as the client wrote them: `ranking_options` and `filters`. */
  readonly wishes: JsonObject;
}

export interface FoundFiles {
  /** Found places, best first. */
  readonly hits: readonly FileHit[];
  /** Names of the stores that could not be searched. */
  readonly silent: readonly string[];
}

export interface StoreDependencies {
  /** Version of Sluice, for the user agent. */
  readonly version: string;
  readonly watch: WebWatch;
  readonly meter: OpenMeter;
  /** Returns the time in milliseconds. */
  readonly now: () => number;
  readonly log: Pick<Logger, "warn">;
}

export class VectorStores {
  readonly #stores: ReadonlyMap<string, VectorStore>;
  readonly #watch: WebWatch;

  constructor({ stores }: FileSearchSettings, parts: StoreDependencies) {
    this.#watch = parts.watch;
    this.#stores = new Map(Object.entries(stores).map(([name, store]) => [name, new VectorStore(name, store, parts)]));
  }

  has(name: string): boolean {
    return this.#stores.has(name);
  }

  /**
   * Searches all of the stores concurrently.
   * @param names names of existing stores
   * @throws SearchUnavailable when none of them could be searched; Fault when the turn is over, or when the budget
   * forbids every search
   */
  async search(names: readonly string[], search: FileQuery, caller: ServiceCaller): Promise<FoundFiles> {
    const searched = await Promise.allSettled(names.map((name) => this.#searchOne(name, search, caller)));
    throwIfAborted(caller.signal);
    const silent = names.filter((_, index) => searched[index]?.status === "rejected");
    const failure = searched.find((each) => each.status === "rejected");
    if (failure && silent.length === names.length) throw failure.reason;
    const hits = searched.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
    const best = hits.toSorted((a, b) => b.score - a.score).slice(0, search.maxResults);
    return { hits: best, silent };
  }

  async #searchOne(name: string, search: FileQuery, caller: ServiceCaller): Promise<readonly FileHit[]> {
    const store = this.#stores.get(name);
    if (store === undefined) throw new SearchUnavailable(`no store is called ${name}`);
    return observeCall(this.#watch("file_search"), caller.signal, () => store.search(search, caller));
  }

  /** Lets running calls finish, and closes idle connections. */
  retire(): void {
    for (const store of this.#stores.values()) store.connections.retire();
  }

  /** Waits for running calls. */
  async close(): Promise<void> {
    await Promise.all([...this.#stores.values()].map(({ connections }) => connections.close()));
  }
}

class VectorStore {
  readonly connections: ServiceClient;
  readonly #client: MeteredClient;
  readonly #service: GuardedService;
  readonly #path: string;
  readonly #timeoutMs: number;

  constructor(name: string, settings: VectorStoreSettings, { version, meter, now, log }: StoreDependencies) {
    const { id = name, timeout_ms: timeoutMs, pricing } = settings;
    const priced = {
      operation: "search",
      model: `file_search/${name}`,
      provider: name,
      price: pricing?.request,
    } as const;
    this.connections = new ServiceClient(settings, `sluice/${version}`);
    this.#client = new MeteredClient(this.connections, meter(priced));
    this.#service = new GuardedService({
      name: "the vector store",
      warning: "file search failed",
      fields: { store: name },
      Unavailable: SearchUnavailable,
      refusal: (error) => (error instanceof SearchRefused ? "the vector store does not take this search" : undefined),
      now,
      log,
    });
    this.#path = `/vector_stores/${encodeURIComponent(id)}/search`;
    this.#timeoutMs = timeoutMs;
  }

  /** Searches one store. @throws SearchUnavailable; Fault when the turn is over, or when the budget forbids the search */
  async search(
    { query, maxResults, wishes }: FileQuery,
    { scope, signal }: ServiceCaller,
  ): Promise<readonly FileHit[]> {
    this.#service.check();
    const body = JSON.stringify({ query, max_num_results: maxResults, ...wishes });
    const limits = { scope, signal, timeoutMs: this.#timeoutMs };
    const found = await this.#service.run(signal, async () =>
      parseResults(await this.#client.post(this.#path, body, limits), ({ data }) => data),
    );
    return found.slice(0, maxResults).flatMap((result) => parseFileHit(result) ?? []);
  }
}
