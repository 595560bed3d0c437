/** Counts occurrences of a text in bytes split at arbitrary positions. */
export class MarkCounter {
  readonly #mark: Buffer;
  #tail: Buffer = Buffer.alloc(0);

  constructor(mark: Buffer) {
    this.#mark = mark;
  }

  /** @returns number of occurrences that these bytes complete */
  feed(bytes: Buffer): number {
    const text = this.#tail.length === 0 ? bytes : Buffer.concat([this.#tail, bytes]);
    let count = 0;
    let from = 0;
    for (let at = text.indexOf(this.#mark); at !== -1; at = text.indexOf(this.#mark, from)) {
      count++;
      from = at + this.#mark.length;
    }
    // The remembered tail is shorter than the mark, so nothing is counted twice.
    this.#tail = text.subarray(Math.max(from, text.length - this.#mark.length + 1));
    return count;
  }
}
