/** Counts of events by name, such as the address of a client, each within a window that begins with its first event. */

/** Maximum entries (less than a MiB); beyond it, the oldest window is forgotten. */
const maxEntries = 4_096;

/** Events of one name. */
interface Window {
  /** Number of events, the latest included. */
  count: number;
  /** End of the window, by the clock of the events. */
  readonly until: number;
}

export class WindowCounts {
  readonly #windowMs: number;
  /** In the order of their first event. */
  readonly #windows = new Map<string, Window>();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  get size(): number {
    return this.#windows.size;
  }

  /** Counts an event. @param now milliseconds of a monotonic clock */
  count(name: string, now: number): Window {
    const window = this.#find(name, now);
    window.count++;
    return window;
  }

  /** Takes back the latest event, if its window is still known. */
  takeBack(name: string): void {
    const window = this.#windows.get(name);
    if (window && window.count > 0) window.count--;
  }

  /** Takes back every event. */
  forget(name: string): void {
    this.#windows.delete(name);
  }

  #find(name: string, now: number): Window {
    const known = this.#windows.get(name);
    if (known && known.until > now) return known;
    this.#windows.delete(name);
    const window = { count: 0, until: now + this.#windowMs };
    this.#windows.set(name, window);
    if (this.#windows.size > maxEntries) this.#windows.delete(this.#windows.keys().next().value as string);
    return window;
  }
}
