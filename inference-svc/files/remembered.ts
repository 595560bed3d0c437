/** Texts that were read, for an hour, as many as fit into some megabytes. Those that were longest not asked for go first. */

const keptMs = 3_600_000;
/** UTF-16 units. */
const mostCharacters = 33_554_432;
/** So that many small ones do not fill the memory with what stands around them. */
const mostTexts = 4_096;

interface Kept<Value> {
  readonly value: Value;
  readonly at: number;
}

export class Remembered<Value extends { readonly text: string }> {
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept<Value>>();
  #characters = 0;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  find(key: string): Value | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    if (this.#now() - kept.at >= keptMs) {
      this.#characters -= kept.value.text.length;
      return undefined;
    }
    this.#kept.set(key, kept);
    return kept.value;
  }

  note(key: string, value: Value): void {
    this.#forget(key);
    this.#kept.set(key, { value, at: this.#now() });
    this.#characters += value.text.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#characters <= mostCharacters && this.#kept.size <= mostTexts) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const kept = this.#kept.get(key);
    if (kept && this.#kept.delete(key)) this.#characters -= kept.value.text.length;
  }
}
