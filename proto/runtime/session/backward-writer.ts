/** Writes bytes from the end of a message to its beginning: the length that goes before a part is known once the part is written. */

const leastBytes = 64 * 1024;
/** What is longer is better written by the engine's own code than character by character. */
const shortText = 64;

export class BackwardWriter {
  #bytes = Buffer.allocUnsafeSlow(leastBytes);
  #at = leastBytes;

  /** Bytes written so far. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  reset(): void {
    // One message with an image must not hold its megabytes for ever.
    if (this.#bytes.length > leastBytes) this.#bytes = Buffer.allocUnsafeSlow(leastBytes);
    this.#at = this.#bytes.length;
  }

  /** Forgets what was written after so many bytes. */
  cut(length: number): void {
    this.#at = this.#bytes.length - length;
  }

  /** What was written. */
  copy(): Uint8Array {
    return Buffer.from(this.#bytes.subarray(this.#at));
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[--this.#at] = value;
  }

  /** @param value a whole number from 0 to 2^32 - 1 */
  varint(value: number): void {
    this.#reserve(5);
    const size = value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
    this.#at -= size;
    let at = this.#at;
    let left = value;
    for (; left > 0x7f; left >>>= 7) this.#bytes[at++] = (left & 0x7f) | 0x80;
    this.#bytes[at] = left;
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#at -= value.length;
    this.#bytes.set(value, this.#at);
  }

  /** As UTF-8; half of a surrogate pair becomes U+FFFD. */
  text(value: string): void {
    if (value.length <= shortText && this.#plain(value)) return;
    const size = Buffer.byteLength(value);
    this.#reserve(size);
    this.#at -= size;
    this.#bytes.write(value, this.#at, size, "utf8");
  }

  /** Whether it was nothing but ASCII, and is written. */
  #plain(value: string): boolean {
    const size = value.length;
    this.#reserve(size);
    const from = this.#at - size;
    for (let index = 0; index < size; index++) {
      const code = value.charCodeAt(index);
      if (code > 0x7f) return false;
      this.#bytes[from + index] = code;
    }
    this.#at = from;
    return true;
  }

  #reserve(size: number): void {
    if (this.#at >= size) return;
    const { length } = this;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#bytes.length + size));
    this.#at = larger.length - length;
    this.#bytes.copy(larger, this.#at, this.#bytes.length - length);
    this.#bytes = larger;
  }
}
