/** Reads pages through a vendor's service, which thereby learns their URLs. The vendor's text is trusted no more than a page. */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { ServiceCaller } from "../../models/ledger/service-meter.ts";
import type { MeteredLimits } from "../../services/metered-client.ts";
import { removeInvalidCharacters } from "../../content/page-charset.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";
import { SearchRefused } from "../../services/search-answers.ts";

/**
 * Maximum UTF-16 units of a page that are requested from a vendor. Even with escapes they fit into an answer, and the
 * page cache takes pages of this length.
 */
export const maxPageUnits = 500_000;

/** Maximum UTF-16 units of a title. */
const maxTitleUnits = 1_000;

/** A page in the vendor's answer, not yet checked. */
export interface UncheckedPage {
  /** Address of the page after redirects, if the vendor returns it. */
  readonly url: unknown;
  readonly title: unknown;
  readonly text: unknown;
}

/** A page read by a vendor. */
export interface VendorPage {
  readonly url: string;
  /** Title of the page; empty when it has none. */
  readonly title: string;
  readonly text: string;
}

/** Reads a page in the way of one vendor. @throws PageUnreadable; SearchRefused; Error without a readable response */
export type ReadPage = (url: string, limits: MeteredLimits) => Promise<UncheckedPage>;

export interface PageEngineDeps {
  /** Milliseconds for reading a page. */
  readonly timeoutMs: number;
  readonly log: Pick<Logger, "warn">;
}

export class PageEngine {
  readonly id: string;
  readonly timeoutMs: number;
  readonly #read: ReadPage;
  readonly #log: PageEngineDeps["log"];

  constructor(id: string, read: ReadPage, { timeoutMs, log }: PageEngineDeps) {
    this.id = id;
    this.timeoutMs = timeoutMs;
    this.#read = read;
    this.#log = log;
  }

  /**
   * Reads a page. Failures do not open a circuit breaker: clients choose slow and broken pages, and must not be able to
   * cut off others.
   * @param url URL that may be sent to the vendor
   * @returns the page, with a `url` that is not checked yet
   * @throws PageUnreadable; Fault when the turn is over, or when the budget forbids the page
   */
  async read(url: string, { scope, signal }: ServiceCaller): Promise<VendorPage> {
    const page = await this.#read(url, { scope, signal, timeoutMs: this.timeoutMs }).catch((error: unknown) => {
      throw signal.aborted ? this.#failure(signal.reason, true) : this.#failure(error, false);
    });
    const text = textOf(page.text).slice(0, maxPageUnits);
    if (text.trim() === "") throw new PageUnreadable("a page without text");
    const title = textOf(page.title).slice(0, maxTitleUnits).replaceAll(/\s+/g, " ");
    return {
      url: textOf(page.url) || url,
      title: removeInvalidCharacters(title).trim(),
      text: removeInvalidCharacters(text).trim(),
    };
  }

  #failure(error: unknown, isLate: boolean): unknown {
    const isNamed = error instanceof PageUnreadable;
    // A failure with an error code of the vendor concerns the page, and not the service.
    if (error instanceof Fault || (isNamed && !isLate)) return error;
    this.#log.warn({ engine: this.id, err: error }, "page not read");
    const says = error instanceof SearchRefused ? "does not take this URL" : "does not answer";
    return isNamed ? error : new PageUnreadable(`${this.id} ${says}`, { cause: error });
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
