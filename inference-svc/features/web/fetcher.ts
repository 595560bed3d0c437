/** Fetches pages of the web safely: only GET, no credentials, no private addresses. Every redirect is checked like the first URL. */
import { ConcurrencySlots } from "../../turn/concurrency-slots.ts";
import type { ServiceCaller } from "../../models/ledger/service-meter.ts";
import { abortFault } from "../../turn/abort.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import type { Domains } from "../../services/public-web/domains.ts";
import { download } from "./download.ts";
import type { VendorPage, PageEngine } from "./page-engine.ts";
import { type Resolve, checkUrl, resolveTarget } from "../../services/public-web/fetch-target.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";
import type { DownloadedFile } from "../../content/downloads.ts";

const maxRedirects = 5;
/** Time limit from the first DNS lookup to the last byte. */
const totalMs = 10_000;
/** Maximum concurrent fetches per host in this process, to protect servers from overload. */
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
  /** Time limit of a fetch; shorter in tests. */
  readonly totalMs?: number;
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

  /** @throws PageUnreadable; Fault when the turn is over */
  get(text: string, domains: Domains, signal: TurnSignal): Promise<DownloadedFile> {
    return timed(this.#parts.totalMs ?? totalMs, signal, (ended) => this.#follow(text, domains, ended));
  }

  /**
   * Lets a vendor read a page of the public internet. Origins that may have private addresses are never sent to a vendor.
   * @throws PageUnreadable; Fault when the turn is over
   */
  hand(text: string, domains: Domains, engine: PageEngine, { scope, signal }: ServiceCaller): Promise<VendorPage> {
    return timed(engine.timeoutMs, signal, async (ended) => {
      const url = checkUrl(text, domains, noOrigin);
      const page = await this.#politely(url.host, ended, async () => {
        await resolveTarget(url, this.#parts.resolve, noOrigin);
        ended.throwIfAborted();
        return engine.read(url.href, { scope, signal: ended });
      });
      return { ...page, url: checkUrl(page.url, domains, noOrigin).href };
    });
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
    return this.#politely(url.host, signal, async () => {
      const target = await resolveTarget(url, resolve, trusted);
      signal.throwIfAborted();
      return download(target, userAgent, signal, async ({ status, type, location }, body) =>
        redirects.has(status) && location !== undefined
          ? new Redirect(location)
          : { url: url.href, status, type, body: await body() },
      );
    });
  }

  async #politely<Result>(host: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const own = this.#hosts.get(host) ?? { slots: new ConcurrencySlots(maxPerHost), users: 0 };
    this.#hosts.set(host, own);
    own.users++;
    const held: (() => void)[] = [];
    try {
      for (const slots of [own.slots, this.#all]) {
        // The wait for a slot is bounded by the time limit of the fetch.
        const release = await slots.take(this.#parts.totalMs ?? totalMs);
        if (release) held.push(release);
        signal.throwIfAborted();
        if (release === undefined) throw new PageUnreadable("too many pages are being read");
      }
      return await work();
    } finally {
      for (const release of held) release();
      if (--own.users === 0) this.#hosts.delete(host);
    }
  }
}

/** @param work is given up when the turn or the time is over */
async function timed<Result>(
  limitMs: number,
  signal: TurnSignal,
  work: (ended: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const abort = new AbortController();
  const stop = () => abort.abort(abortFault(signal));
  const timer = setTimeout(() => abort.abort(new PageUnreadable(`took more than ${limitMs / 1_000} s`)), limitMs);
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  try {
    return await within(abort.signal, work(abort.signal));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    // Ends waits for slots and pending lookups.
    abort.abort();
  }
}

class Redirect {
  readonly location: string;

  constructor(location: string) {
    this.location = location;
  }
}

/** Rejects when the signal aborts, even if the work ignores it. */
function within<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
