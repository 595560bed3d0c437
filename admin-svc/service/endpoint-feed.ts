/**
 * Distributes observations of processes about endpoints: directly to processes watching here, and through the database to processes watching at another
 * admin-svc. News are hints: they may be lost, and a process that sends too many is ignored for a while.
 */
import { randomUUID } from "node:crypto";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { EndpointChange } from "@sluice/proto/lib/policy/watch.js";
import type { Watcher } from "./watcher.ts";

/** Enough for an outage of a provider with a hundred endpoints. */
const maxNews = 100;
const windowMs = 10_000;
/** News per message, so that they fit into a notification. */
const maxOfMessage = 10;
const maxNameBytes = 500;

interface Passed {
  readonly from: string;
  readonly news: readonly EndpointChange[];
}

/** Start of a process's window, by performance.now(), and the number of its news since then. */
interface NewsWindow {
  since: number;
  count: number;
}

export interface EndpointFeedOptions {
  /** Sends a payload to every admin-svc. */
  readonly notify: (payload: string) => Promise<unknown>;
  readonly log: Logger;
}

export class EndpointFeed {
  /** Name of this process in its notifications. */
  readonly #id = randomUUID();
  readonly #options: EndpointFeedOptions;
  readonly #watchers = new Map<Watcher, NewsWindow>();

  constructor(options: EndpointFeedOptions) {
    this.#options = options;
  }

  /** Sends the watcher the news of others until it leaves. */
  join(watcher: Watcher): void {
    this.#watchers.set(watcher, { since: performance.now(), count: 0 });
  }

  leave(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  /** Distributes the news of a joined process. */
  pass(from: Watcher, received: readonly EndpointChange[]): void {
    const news = received
      .slice(0, Math.min(maxOfMessage, this.#left(from)))
      .filter(({ endpoint }) => Buffer.byteLength(endpoint) <= maxNameBytes)
      .map(({ endpoint, failing }): EndpointChange => ({ endpoint, failing }));
    if (news.length === 0) return;
    (this.#watchers.get(from) as NewsWindow).count += news.length;
    this.#distribute(news, from);
    const passed: Passed = { from: this.#id, news };
    void this.#options
      .notify(JSON.stringify(passed))
      .catch((error: unknown) => this.#options.log.debug({ err: error }, "news of endpoints not passed on"));
  }

  /** Processes a notification of any admin-svc, including this process. */
  receive(payload: string): void {
    const passed = parsePassed(payload);
    if (passed && passed.from !== this.#id) this.#distribute(passed.news, undefined);
  }

  #distribute(news: readonly EndpointChange[], from: Watcher | undefined): void {
    for (const watcher of this.#watchers.keys()) if (watcher !== from) watcher.sendNews(news);
  }

  /** How many more news are accepted from the process now; none before it has joined. */
  #left(from: Watcher): number {
    const window = this.#watchers.get(from);
    if (!window) return 0;
    const now = performance.now();
    if (now - window.since > windowMs) {
      window.since = now;
      window.count = 0;
    }
    return maxNews - window.count;
  }
}

/** @returns undefined for a payload from another source: every user of the database may notify */
function parsePassed(payload: string): Passed | undefined {
  try {
    const { from, news } = JSON.parse(payload) as { from: unknown; news: { endpoint: unknown; failing: unknown }[] };
    const changes = news.map(({ endpoint, failing }) => ({ endpoint: String(endpoint), failing: failing === true }));
    return { from: String(from), news: changes };
  } catch {
    return undefined;
  }
}
