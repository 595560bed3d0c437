/** The keys of a JSON text, as they stand in its bytes. */

/** The text of a string, whose quotes are at both ends. @param escaped whether it may have escapes */
export const decoded = (bytes: Buffer, start: number, end: number, escaped: boolean): string =>
  escaped ? (JSON.parse(bytes.toString("utf8", start, end)) as string) : bytes.toString("utf8", start + 1, end - 1);

/** So many keys are compared one by one; what has more is compared by hash. */
const fewKeys = 16;

/** The keys of one object. Most have a handful without escapes: those are compared as they stand, and none becomes a string. */
export class KeySet {
  readonly #bytes: Buffer;
  /** Start and end of each key. */
  readonly #spans: number[] = [];
  #decoded: Set<string> | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** @returns false when the key is there already */
  add(start: number, end: number, escaped: boolean): boolean {
    if (escaped || this.#spans.length === 2 * fewKeys) this.#decoded ??= this.#decode();
    if (this.#decoded) return this.#decoded.size !== this.#decoded.add(decoded(this.#bytes, start, end, escaped)).size;
    const spans = this.#spans;
    for (let at = 0; at < spans.length; at += 2) {
      const other = spans[at]!;
      if (spans[at + 1]! - other === end - start && isSame(this.#bytes, other, start, end)) return false;
    }
    spans.push(start, end);
    return true;
  }

  #decode(): Set<string> {
    const keys = new Set<string>();
    for (let at = 0; at < this.#spans.length; at += 2) {
      keys.add(decoded(this.#bytes, this.#spans[at]!, this.#spans[at + 1]!, false));
    }
    return keys;
  }
}

function isSame(bytes: Buffer, other: number, start: number, end: number): boolean {
  let at = start;
  while (at < end && bytes[at] === bytes[other + at - start]) at++;
  return at === end;
}
