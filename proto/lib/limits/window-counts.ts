/** Counts events by name, such as the address of a client, in windows of time that begin with the first event. */

/** Maximum number of windows, which take less than a MiB; beyond it, the oldest is forgotten. */
const maxEntries = 4_096;

/** The window of one name. */
interface Window {
  /** Number of events, including the latest. */
  count: number;
  /** End of the window, by the clock of the events. */
  readonly until: number;
}

export class WindowCounts {
  readonly #windowMs: number;
  /** Windows in the order of their first event. */
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

  /** Undoes the latest event of a name, if its window still exists. */
  takeBack(name: string): void {
    const window = this.#windows.get(name);
    if (window && window.count > 0) window.count--;
  }

  /** Forgets all events of a name. */
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
