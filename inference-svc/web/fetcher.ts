/**
 * The one way to what others have put on the web: nothing but GET, nothing of ours with it but a name, and never to an address that is not public.
 * Every redirect is a new URL, checked like the first.
 */
import { Slots } from "../internal/slots.ts";
import { abortFault } from "../turn/abort.ts";
import type { TurnSignal } from "../turn/signal.ts";
import type { Domains } from "./domains.ts";
import { download } from "./download.ts";
import { type Resolve, checkedUrl, targetOf } from "./target.ts";
import { Unread } from "./unread.ts";

const mostRedirects = 5;
/** From the first name that is resolved to the last byte. */
const totalMs = 10_000;
/** Of this process, at one host: nobody's server suffers from what our callers ask. */
const mostOfHost = 2;
/** Of this process: each may hold as much as the largest page. */
const mostAtOnce = 32;

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export interface Fetched {
  /** After redirects. */
  readonly url: string;
  readonly status: number;
  /** Content-type as the server says it; empty when it does not. */
  readonly type: string;
  readonly body: Buffer;
}

export interface FetcherParts {
  readonly userAgent: string;
  readonly resolve: Resolve;
  /** Origins that are believed wherever they are. */
  readonly believed: ReadonlySet<string>;
  /** Time limit of a fetch; ten seconds unless a test has less time. */
  readonly totalMs?: number;
}

interface HostSlots {
  readonly slots: Slots;
  users: number;
}

export class Fetcher {
  readonly #parts: FetcherParts;
  readonly #all = new Slots(mostAtOnce);
  readonly #hosts = new Map<string, HostSlots>();

  constructor(parts: FetcherParts) {
    this.#parts = parts;
  }

  /** @throws Unread; Fault when the turn is over */
  async get(text: string, domains: Domains, signal: TurnSignal): Promise<Fetched> {
    const limitMs = this.#parts.totalMs ?? totalMs;
    const abort = new AbortController();
    const stop = () => abort.abort(abortFault(signal));
    const timer = setTimeout(() => abort.abort(new Unread(`took more than ${limitMs / 1_000} s`)), limitMs);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    try {
      return await within(abort.signal, this.#follow(text, domains, abort.signal));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      // Whatever still waits for a slot or a name gives up.
      abort.abort();
    }
  }

  async #follow(text: string, domains: Domains, signal: AbortSignal): Promise<Fetched> {
    let url = checkedUrl(text, domains, this.#parts.believed);
    for (let left = mostRedirects; ; left--) {
      const answer = await this.#once(url, signal);
      if (!(answer instanceof Redirect)) return answer;
      if (left === 0) throw new Unread(`more than ${mostRedirects} redirects`);
      url = checkedUrl(answer.location, domains, this.#parts.believed, url);
    }
  }

  async #once(url: URL, signal: AbortSignal): Promise<Fetched | Redirect> {
    const { resolve, believed, userAgent } = this.#parts;
    return this.#politely(url.host, signal, async () => {
      const target = await targetOf(url, resolve, believed);
      signal.throwIfAborted();
      return download(target, userAgent, signal, async ({ status, type, location }, body) =>
        redirects.has(status) && location !== undefined
          ? new Redirect(location)
          : { url: url.href, status, type, body: await body() },
      );
    });
  }

  async #politely<Result>(host: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const own = this.#hosts.get(host) ?? { slots: new Slots(mostOfHost), users: 0 };
    this.#hosts.set(host, own);
    own.users++;
    const held: (() => void)[] = [];
    try {
      for (const slots of [own.slots, this.#all]) {
        // Nobody waits longer than the fetch may take.
        const release = await slots.take(this.#parts.totalMs ?? totalMs);
        if (release) held.push(release);
        signal.throwIfAborted();
        if (release === undefined) throw new Unread("too many pages are being read");
      }
      return await work();
    } finally {
      for (const release of held) release();
      if (--own.users === 0) this.#hosts.delete(host);
    }
  }
}

class Redirect {
  readonly location: string;

  constructor(location: string) {
    this.location = location;
  }
}

/** Does not wait for work that does not hear of the signal. */
function within<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
