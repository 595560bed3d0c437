/** Caches pages for some minutes, so the plugin, the tools and the next step of an agent read a page only once. */
import type { Page } from "./page.ts";

const keptMs = 5 * 60_000;
/** Maximum UTF-16 units of all cached pages in this process. */
const maxUnits = 8 * 1024 * 1024;
/** Maximum UTF-16 units of a cached page: a longer one would displace too many others. */
const maxPageUnits = 512 * 1024;

interface Kept {
  readonly page: Page;
  readonly until: number;
}

export class PageCache {
  readonly #now: () => number;
  /** Cached pages, the oldest first. */
  readonly #kept = new Map<string, Kept>();
  #units = 0;

  /** @param now returns the time in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  find(key: string): Page | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined || kept.until > this.#now()) return kept?.page;
    this.#drop(key, kept);
    return undefined;
  }

  keep(key: string, page: Page): void {
    const before = this.#kept.get(key);
    if (before) this.#drop(key, before);
    if (sizeOf(key, page) > maxPageUnits) return;
    this.#kept.set(key, { page, until: this.#now() + keptMs });
    this.#units += sizeOf(key, page);
    for (const [oldest, kept] of this.#kept) {
      if (this.#units <= maxUnits) return;
      this.#drop(oldest, kept);
    }
  }

  #drop(key: string, { page }: Kept): void {
    this.#kept.delete(key);
    this.#units -= sizeOf(key, page);
  }
}

const sizeOf = (key: string, { url, title, text }: Page): number =>
  key.length + url.length + title.length + text.length;
