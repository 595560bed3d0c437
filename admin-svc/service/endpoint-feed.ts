/**
 * Distributes news about failing or recovered endpoints: directly to inference processes connected to this admin-svc,
 * and through the database to processes connected to another. News may be lost, and news of a process that sends too
 * many are ignored for a while.
 */
import { randomUUID } from "node:crypto";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { EndpointChange } from "@sluice/proto/lib/policy/watch.js";
import type { Watcher } from "./watcher.ts";

/** Maximum news of a process within ten seconds: enough for an outage of a provider with a hundred endpoints. */
const maxNews = 100;
const windowMs = 10_000;
/** News per message: Postgres limits a notification to 8,000 bytes. */
const maxOfMessage = 10;
const maxNameBytes = 500;

interface Passed {
  readonly from: string;
  readonly news: readonly EndpointChange[];
}

/** Time window of a process: its start by performance.now(), and the number of news since then. */
interface NewsWindow {
  since: number;
  count: number;
}

export interface EndpointFeedOptions {
  /** Sends a payload to every admin-svc as a database notification. */
  readonly notify: (payload: string) => Promise<unknown>;
  readonly log: Logger;
}

export class EndpointFeed {
  /** Id of this admin-svc in its notifications. */
  readonly #id = randomUUID();
  readonly #options: EndpointFeedOptions;
  readonly #watchers = new Map<Watcher, NewsWindow>();

  constructor(options: EndpointFeedOptions) {
    this.#options = options;
  }

  /** Sends news of other processes to a watcher until it disconnects. */
  join(watcher: Watcher): void {
    this.#watchers.set(watcher, { since: performance.now(), count: 0 });
  }

  leave(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  /** Distributes news received from a connected process. */
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

  /** Handles a database notification from any admin-svc, including this one. */
  receive(payload: string): void {
    const passed = parsePassed(payload);
    if (passed && passed.from !== this.#id) this.#distribute(passed.news, undefined);
  }

  #distribute(news: readonly EndpointChange[], from: Watcher | undefined): void {
    for (const watcher of this.#watchers.keys()) if (watcher !== from) watcher.sendNews(news);
  }

  /** How many more news are accepted from a process in its current window; 0 before the process has connected. */
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

/** @returns undefined for a malformed payload: every user of the database can send notifications */
function parsePassed(payload: string): Passed | undefined {
  try {
    const { from, news } = JSON.parse(payload) as { from: unknown; news: { endpoint: unknown; failing: unknown }[] };
    const changes = news.map(({ endpoint, failing }) => ({ endpoint: String(endpoint), failing: failing === true }));
    return { from: String(from), news: changes };
  } catch {
    return undefined;
  }
}
