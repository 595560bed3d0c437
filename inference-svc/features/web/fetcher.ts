/**
 * Fetches pages of the web safely: only by GET, without credentials, and not from private addresses. Every redirect is
 * checked like the first URL.
 */
import { ConcurrencySlots } from "../../turn/concurrency-slots.ts";
import type { ServiceCaller } from "../../models/ledger/service-meter.ts";
import { TimedCall } from "../../turn/abort.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import type { Domains } from "../../services/public-web/domains.ts";
import { download } from "./download.ts";
import type { VendorPage, PageEngine } from "./page-engine.ts";
import { type Resolve, checkUrl, resolveTarget } from "../../services/public-web/fetch-target.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";
import type { DownloadedFile } from "../../content/downloads.ts";

const maxRedirects = 5;
/** Milliseconds for a fetch, from the first DNS lookup to the last byte. */
const totalMs = 10_000;
/** Maximum concurrent fetches per host in this process, to protect the hosts from overload. */
const maxPerHost = 2;
/** Maximum concurrent fetches of this process; each may hold a page of the maximum size. */
const maxConcurrent = 32;

const noOrigin: ReadonlySet<string> = new Set();

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export interface FetcherDependencies {
  readonly userAgent: string;
  readonly resolve: Resolve;
  /** Origins that may have private addresses. */
  readonly trustedOrigins: ReadonlySet<string>;
  /** Milliseconds for a fetch; tests use fewer than the default. */
  readonly totalMs?: number;
}

interface FetchCaller extends ServiceCaller {
  readonly signal: AbortSignal;
}

interface HostSlots {
  readonly slots: ConcurrencySlots;
  users: number;
}

export class Fetcher {
  readonly #parts: FetcherDependencies;
  readonly #all = new ConcurrencySlots(maxConcurrent);
  readonly #hosts = new Map<string, HostSlots>();

  constructor(parts: FetcherDependencies) {
    this.#parts = parts;
  }

  /** Fetches a URL. @throws PageUnreadable; Fault when the turn is over */
  async get(text: string, domains: Domains, signal: TurnSignal): Promise<DownloadedFile> {
    const call = timedFetch(signal, this.#parts.totalMs ?? totalMs);
    try {
      return await call.race(this.#follow(text, domains, call.signal));
    } finally {
      call.end();
    }
  }

  /**
   * Lets a vendor read a page of the public internet. URLs of origins that may have private addresses are never sent to
   * a vendor.
   * @throws PageUnreadable; Fault when the turn is over
   */
  async hand(
    text: string,
    domains: Domains,
    engine: PageEngine,
    { scope, signal }: ServiceCaller,
  ): Promise<VendorPage> {
    const call = timedFetch(signal, engine.timeoutMs);
    try {
      const url = checkUrl(text, domains, noOrigin);
      const page = await call.race(this.#hand(url, engine, { scope, signal: call.signal }));
      return { ...page, url: checkUrl(page.url, domains, noOrigin).href };
    } finally {
      call.end();
    }
  }

  async #hand(url: URL, engine: PageEngine, { scope, signal }: FetchCaller): Promise<VendorPage> {
    const release = await this.#takeSlots(url.host, signal);
    try {
      await resolveTarget(url, this.#parts.resolve, noOrigin);
      signal.throwIfAborted();
      return await engine.read(url.href, { scope, signal });
    } finally {
      release();
    }
  }

  async #follow(text: string, domains: Domains, signal: AbortSignal): Promise<DownloadedFile> {
    let url = checkUrl(text, domains, this.#parts.trustedOrigins);
    for (let left = maxRedirects; ; left--) {
      const answer = await this.#once(url, signal);
      if (!(answer instanceof Redirect)) return answer;
      if (left === 0) throw new PageUnreadable(`more than ${maxRedirects} redirects`);
      url = checkUrl(answer.location, domains, this.#parts.trustedOrigins, url);
    }
  }

  async #once(url: URL, signal: AbortSignal): Promise<DownloadedFile | Redirect> {
    const { resolve, trustedOrigins: trusted, userAgent } = this.#parts;
    const release = await this.#takeSlots(url.host, signal);
    try {
      const target = await resolveTarget(url, resolve, trusted);
      signal.throwIfAborted();
      return await download(target, userAgent, signal, async ({ status, type, location }, body) =>
        redirects.has(status) && location !== undefined
          ? new Redirect(location)
          : { url: url.href, status, type, body: await body() },
      );
    } finally {
      release();
    }
  }

  /**
   * Waits for a free slot of the process and of the host. @returns the function to call at the end of the fetch @throws
   * PageUnreadable when no slot is free in time
   */
  async #takeSlots(host: string, signal: AbortSignal): Promise<() => void> {
    const own = this.#hosts.get(host) ?? { slots: new ConcurrencySlots(maxPerHost), users: 0 };
    this.#hosts.set(host, own);
    own.users++;
    const held: (() => void)[] = [];
    const release = () => {
      for (const slot of held) slot();
      if (--own.users === 0) this.#hosts.delete(host);
    };
    try {
      for (const slots of [own.slots, this.#all]) {
        // The time limit of the fetch also bounds the wait for a slot.
        const slot = await slots.take(this.#parts.totalMs ?? totalMs);
        if (slot) held.push(slot);
        signal.throwIfAborted();
        if (slot === undefined) throw new PageUnreadable("too many pages are being read");
      }
      return release;
    } catch (error) {
      release();
      throw error;
    }
  }
}

const timedFetch = (signal: TurnSignal, limitMs: number): TimedCall =>
  new TimedCall(signal, limitMs, () => new PageUnreadable(`took more than ${limitMs / 1_000} s`));

class Redirect {
  readonly location: string;

  constructor(location: string) {
    this.location = location;
  }
}
