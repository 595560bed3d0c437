/** A page of the web as a model reads it. */
import type { TurnSignal } from "../turn/signal.ts";
import { throwIfAborted } from "../turn/abort.ts";
import { textOf } from "./charset.ts";
import { withinTokens } from "./cut.ts";
import type { Domains } from "./domains.ts";
import type { Fetcher, Fetched } from "./fetcher.ts";
import type { Parsed } from "./reader-thread.ts";
import type { Readers } from "./readers.ts";
import { Unread } from "./unread.ts";

export interface Page {
  /** After redirects. */
  readonly url: string;
  /** Empty when it has none. */
  readonly title: string;
  /** Markdown, or what else the page is written in. */
  readonly text: string;
  readonly status: number;
  /** Whether something is missing at its end. */
  readonly isCut: boolean;
}

export interface PageLimits {
  readonly domains: Domains;
  /** Estimated. */
  readonly maxTokens: number;
}

/** Of this process: pages that have come and wait for a reader. */
const mostWaitingBytes = 64 * 1024 * 1024;

export class Pages {
  readonly #fetcher: Fetcher;
  readonly #readers: Readers;
  readonly #mostWaiting: number;
  #waiting = 0;

  /** @param mostWaiting bytes of pages that wait for a reader */
  constructor(fetcher: Fetcher, readers: Readers, mostWaiting = mostWaitingBytes) {
    this.#fetcher = fetcher;
    this.#readers = readers;
    this.#mostWaiting = mostWaiting;
  }

  /** @throws Unread, also for an answer of which nothing can be read; Fault when the turn is over */
  async read(url: string, { domains, maxTokens }: PageLimits, signal: TurnSignal): Promise<Page> {
    const fetched = await this.#fetcher.get(url, domains, signal);
    if (fetched.status < 200 || fetched.status > 299)
      throw new Unread(`status ${fetched.status}`, { status: fetched.status });
    const { title, text } = await this.#said(fetched);
    throwIfAborted(signal);
    const kept = withinTokens(text, maxTokens);
    return { url: fetched.url, status: fetched.status, title, text: kept, isCut: kept.length < text.length };
  }

  async #said({ url, type, body }: Fetched): Promise<{ readonly title: string; readonly text: string }> {
    const [kind = ""] = type.toLowerCase().split(";", 1);
    const parsed = isHtml(kind.trim())
      ? await this.#parsed(url, type, body)
      : { title: "", text: plainOf(kind.trim(), type, body) };
    const text = wellFormed(parsed.text).trim();
    if (text === "") throw new Unread("a page without text");
    return { title: wellFormed(parsed.title), text };
  }

  async #parsed(url: string, type: string, html: Buffer): Promise<Parsed> {
    if (this.#waiting + html.length > this.#mostWaiting) throw new Unread("too many pages are being read");
    this.#waiting += html.length;
    try {
      return await this.#readers.read({ html, type, url });
    } finally {
      this.#waiting -= html.length;
    }
  }
}

const isHtml = (kind: string): boolean => kind === "text/html" || kind === "application/xhtml+xml";

/** What is text for people, too. */
const plain = /^(?:text\/.+|application\/(?:.+\+)?(?:json|xml|yaml|x-yaml|toml|javascript|x-ndjson))$/;

function plainOf(kind: string, type: string, body: Buffer): string {
  if (!plain.test(kind)) throw new Unread(kind === "" ? "no content type" : `of type ${kind.slice(0, 100)}`);
  return textOf(body, type);
}

/** Characters without a meaning of their own that some parsers of JSON, and some providers, do not take. */
const wellFormed = (text: string): string => text.replaceAll(/\p{Surrogate}/gu, "\ufffd").replaceAll("\0", "");
