/** The keys of one provider, in rotation. */

/** A refused key is left alone that long: a rotated or re-charged one is found soon, and few turns run into a dead one. */
const refusedRestMs = 60_000;
const longestRestMs = 300_000;
const shortestRestMs = 1_000;

export class KeyRing {
  readonly #keys: readonly string[];
  readonly #restUntil: number[];
  #next = 0;

  constructor(keys: readonly string[]) {
    this.#keys = keys;
    this.#restUntil = keys.map(() => 0);
  }

  /** The next key that does not rest; when all rest the next one all the same. Undefined for servers without keys. */
  take(): string | undefined {
    const now = performance.now();
    const order = this.#keys.map((_, step) => (this.#next + step) % this.#keys.length);
    const index = order.find((at) => (this.#restUntil[at] ?? 0) <= now) ?? order[0];
    if (index === undefined) return undefined;
    this.#next = index + 1;
    return this.#keys[index];
  }

  /** What an answer means for the key that it was asked with. @param status what the answer stands for: some refuse a key with 400 */
  note(key: string | undefined, status: number, retryAfterMs: number): void {
    const index = key === undefined ? -1 : this.#keys.indexOf(key);
    if (index === -1) return;
    const refused = status === 401 || status === 402 || status === 403;
    const restMs = Math.min(longestRestMs, Math.max(shortestRestMs, retryAfterMs));
    if (refused) this.#restUntil[index] = performance.now() + refusedRestMs;
    else if (status === 429) this.#restUntil[index] = performance.now() + restMs;
  }
}
