/** A search of the web, whoever makes it; what it may find is looked at here, whatever the engine makes of the wishes. */
import { Circuit } from "../internal/circuit.ts";
import { throwIfAborted } from "../turn/abort.ts";
import type { TurnSignal } from "../turn/signal.ts";
import { type Domains, admits } from "./domains.ts";
import { urlIn } from "../turn/url.ts";

export interface Search {
  readonly query: string;
  readonly maxResults: number;
  readonly domains: Domains;
}

export interface Hit {
  readonly url: string;
  /** Empty when it has none. */
  readonly title: string;
  /** What the engine shows of the page. */
  readonly content: string;
}

/** Nothing was searched, which is not the same as having found nothing. */
export class NoSearch extends Error {}

/** What is known of an engine alone. */
export interface Wire {
  /** Results of a page, from 1. @throws Error when there is no answer that can be read */
  page(search: Search, number: number, limits: { signal: TurnSignal; timeoutMs: number }): Promise<readonly Hit[]>;
}

/** Of results: one has about twenty, of which some are not wanted. */
const mostPages = 2;

export class SearchEngine {
  readonly id: string;
  readonly #wire: Wire;
  readonly #timeoutMs: number;
  readonly #circuit: Circuit;

  /** @param now milliseconds */
  constructor(id: string, wire: Wire, { timeoutMs, now }: { readonly timeoutMs: number; readonly now: () => number }) {
    this.id = id;
    this.#wire = wire;
    this.#timeoutMs = timeoutMs;
    this.#circuit = new Circuit(now);
  }

  /** Each page once, best first. @throws NoSearch; Fault when the turn is over */
  async search(search: Search, signal: TurnSignal): Promise<readonly Hit[]> {
    if (this.#circuit.open) throw new NoSearch("the search engine does not answer");
    const until = performance.now() + this.#timeoutMs;
    const hits = new Map<string, Hit>();
    for (let number = 1; number <= mostPages && hits.size < search.maxResults; number++) {
      const found = await this.#page(search, number, signal, until);
      if (found.length === 0) break;
      for (const hit of found) {
        const url = canonical(hit.url);
        if (url && admits(search.domains, new URL(url)) && !hits.has(url)) hits.set(url, hit);
      }
    }
    return [...hits.values()].slice(0, search.maxResults);
  }

  async #page(search: Search, number: number, signal: TurnSignal, until: number): Promise<readonly Hit[]> {
    throwIfAborted(signal);
    const timeoutMs = Math.max(1, until - performance.now());
    try {
      const hits = await this.#wire.page(search, number, { signal, timeoutMs });
      this.#circuit.succeeded();
      return hits;
    } catch (error) {
      throwIfAborted(signal);
      this.#circuit.failed();
      throw new NoSearch("the search engine does not answer", { cause: error });
    }
  }
}

/** One spelling for all that lead to the same page; undefined for what is no page of the web. */
export function canonical(text: string): string | undefined {
  const url = urlIn(text);
  if (url === undefined) return undefined;
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  url.hash = "";
  const marks = [...url.searchParams].filter(([name]) => /^utm_/i.test(name));
  for (const [name] of marks) url.searchParams.delete(name);
  return url.href.replace(/\/$/, "");
}
