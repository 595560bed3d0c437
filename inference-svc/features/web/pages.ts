/** Reads pages and documents of the web as text for models. */
import type { DocumentReaders } from "../../content/files/documents/readers.ts";
import { findDocumentKind } from "../../content/files/part.ts";
import { FileProblem, FileReadUnavailable } from "../../content/files/problem.ts";
import type { DocumentKind } from "../../turn/file-text.ts";
import type { ServiceCaller } from "../../models/ledger/service-meter.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import { throwIfAborted } from "../../turn/abort.ts";
import { decodePage, removeInvalidCharacters } from "../../content/page-charset.ts";
import { truncateToTokens } from "./truncate-page.ts";
import type { Domains } from "../../services/public-web/domains.ts";
import type { PageCache } from "./page-cache.ts";
import type { Fetcher } from "./fetcher.ts";
import type { ParsedPage } from "./reader-thread.ts";
import type { PageReaders } from "./page-readers.ts";
import type { PageEngine } from "./page-engine.ts";
import type { Page } from "./page.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";
import type { DownloadedFile } from "../../content/downloads.ts";

export interface PageLimits {
  /** Hash of the caller's key. Cached pages are separate per key, so nobody can find out by timing which pages others have read. */
  readonly keyHash: string;
  readonly domains: Domains;
  /** Maximum tokens of the text, as estimated. */
  readonly maxTokens: number;
  /** Engine of a vendor that reads the page instead of Sluice. */
  readonly engine?: PageEngine | undefined;
}

/** Default maximum bytes of fetched pages and documents that wait for a reader in this process. */
const maxWaitingBytes = 64 * 1024 * 1024;

export interface PagesDeps {
  readonly fetcher: Fetcher;
  readonly readers: PageReaders;
  readonly documents: Pick<DocumentReaders, "read">;
  readonly cache: PageCache;
}

export class Pages {
  readonly #fetcher: Fetcher;
  readonly #readers: PageReaders;
  readonly #documents: PagesDeps["documents"];
  readonly #cache: PageCache;
  readonly #maxWaiting: number;
  #waiting = 0;

  /** @param maxWaiting maximum bytes of fetched pages and documents that wait for a reader */
  constructor({ fetcher, readers, documents, cache }: PagesDeps, maxWaiting = maxWaitingBytes) {
    this.#fetcher = fetcher;
    this.#readers = readers;
    this.#documents = documents;
    this.#cache = cache;
    this.#maxWaiting = maxWaiting;
  }

  /** Reads a page. @throws PageUnreadable, also for an error status; Fault when the turn is over */
  async read(url: string, { keyHash, domains, maxTokens, engine }: PageLimits, caller: ServiceCaller): Promise<Page> {
    // Domain filters are part of the key: they apply to every redirect, so a page read under other filters may differ.
    const key = JSON.stringify([keyHash, url, domains.allowed, domains.blocked, engine?.id]);
    const known = this.#cache.find(key);
    const page =
      known ??
      (await (engine ? this.#readBy(engine, url, domains, caller) : this.#readWhole(url, domains, caller.signal)));
    if (known === undefined) this.#cache.keep(key, page);
    const text = truncateToTokens(page.text, maxTokens);
    return { ...page, text, isCut: text.length < page.text.length };
  }

  async #readWhole(url: string, domains: Domains, signal: TurnSignal): Promise<Page> {
    const fetched = await this.download(url, domains, signal);
    const { title, text } = await this.#readText(fetched, signal);
    throwIfAborted(signal);
    return { url: fetched.url, status: fetched.status, title, text, isCut: false };
  }

  async #readBy(engine: PageEngine, url: string, domains: Domains, caller: ServiceCaller): Promise<Page> {
    const page = await this.#fetcher.hand(url, domains, engine, caller);
    throwIfAborted(caller.signal);
    return { ...page, status: 200, isCut: false };
  }

  /** Downloads a file. @throws PageUnreadable, also for an error status; Fault when the turn is over */
  async download(url: string, domains: Domains, signal: TurnSignal): Promise<DownloadedFile> {
    const fetched = await this.#fetcher.get(url, domains, signal);
    const { status } = fetched;
    if (status < 200 || status > 299) throw new PageUnreadable(`status ${status}`, { status });
    return fetched;
  }

  async #readText({ url, type, body }: DownloadedFile, signal: TurnSignal): Promise<ParsedPage> {
    const [before = ""] = type.toLowerCase().split(";", 1);
    const kind = before.trim();
    const document = findDocumentKind(body, kind);
    const parsed = isHtml(kind)
      ? await this.#whileWaiting(body, () => this.#readers.read({ html: body, type, url }))
      : { title: "", text: document ? await this.#readDocument(document, body, signal) : plainOf(kind, type, body) };
    const text = removeInvalidCharacters(parsed.text).trim();
    if (text === "") throw new PageUnreadable("a page without text");
    return { title: removeInvalidCharacters(parsed.title), text };
  }

  async #readDocument(kind: DocumentKind, bytes: Buffer, signal: TurnSignal): Promise<string> {
    try {
      return (await this.#whileWaiting(bytes, () => this.#documents.read({ kind, bytes }, signal))).text;
    } catch (error) {
      if (error instanceof FileProblem) throw new PageUnreadable(error.message, { cause: error });
      if (error instanceof FileReadUnavailable)
        throw new PageUnreadable("too many pages are being read", { cause: error });
      throw error;
    }
  }

  async #whileWaiting<Result>({ length }: Buffer, read: () => Promise<Result>): Promise<Result> {
    if (this.#waiting + length > this.#maxWaiting) throw new PageUnreadable("too many pages are being read");
    this.#waiting += length;
    try {
      return await read();
    } finally {
      this.#waiting -= length;
    }
  }
}

const isHtml = (kind: string): boolean => kind === "text/html" || kind === "application/xhtml+xml";

/** Matches content types of readable text. */
const plain = /^(?:text\/.+|application\/(?:.+\+)?(?:json|xml|yaml|x-yaml|toml|javascript|x-ndjson))$/;

function plainOf(kind: string, type: string, body: Buffer): string {
  if (!plain.test(kind)) throw new PageUnreadable(kind === "" ? "no content type" : `of type ${kind.slice(0, 100)}`);
  return decodePage(body, type);
}
