/** A cache of texts read from files, kept for an hour within some megabytes. The least recently used text is dropped first. */

const maxAgeMs = 3_600_000;
/** Maximum UTF-16 units of all cached texts. */
const maxCharacters = 33_554_432;
/** Maximum number of cached texts; bounds the overhead of many small ones. */
const maxTexts = 4_096;

interface Entry<Value> {
  readonly value: Value;
  readonly at: number;
}

interface CachedText {
  readonly text: string;
  readonly beside?: readonly string[];
}

const lengthOf = ({ text, beside = [] }: CachedText): number =>
  beside.reduce((length, other) => length + other.length, text.length);

export class TextCache<Value extends CachedText> {
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry<Value>>();
  #characters = 0;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  find(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (this.#now() - entry.at >= maxAgeMs) {
      this.#characters -= lengthOf(entry.value);
      return undefined;
    }
    this.#entries.set(key, entry);
    return entry.value;
  }

  note(key: string, value: Value): void {
    this.#forget(key);
    this.#entries.set(key, { value, at: this.#now() });
    this.#characters += lengthOf(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#characters <= maxCharacters && this.#entries.size <= maxTexts) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry && this.#entries.delete(key)) this.#characters -= lengthOf(entry.value);
  }
}
