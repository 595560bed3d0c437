/**
 * Writes a protobuf message from its end to its beginning, because the length in front of a part is known only after
 * the part is written.
 */
import { unitAt } from "../text/unit-at.ts";

const minBytes = 64 * 1024;
/**
 * Maximum size of a buffer that is kept for the next message: a message with many turns has up to a megabyte, and the
 * next one is often as large.
 */
const keptBytes = 2 * 1024 * 1024;
/** Maximum text length up to which a loop over the characters is faster than Buffer.write. */
const shortText = 64;

export class BackwardWriter {
  #bytes = Buffer.allocUnsafeSlow(minBytes);
  #at = minBytes;
  #following: Uint8Array | undefined = undefined;

  /** Number of bytes written so far. */
  get length(): number {
    return this.#bytes.length - this.#at + (this.#following?.length ?? 0);
  }

  /**
   * Returns the bytes given to `follow`, which are sent after the written bytes, and forgets them, because they may be
   * 32 MiB.
   */
  takeFollowing(): Uint8Array | undefined {
    const following = this.#following;
    this.#following = undefined;
    return following;
  }

  reset(): void {
    // A very large buffer is replaced, so one message with an image does not occupy megabytes for ever.
    if (this.#bytes.length > keptBytes) this.#bytes = Buffer.allocUnsafeSlow(minBytes);
    this.#at = this.#bytes.length;
    this.#following = undefined;
  }

  /** Sends these bytes after the message without copying them. Call it before anything is written. */
  follow(value: Uint8Array): void {
    this.#following = value;
  }

  /** Removes everything written after the message had this length. */
  cut(length: number): void {
    this.#at = this.#bytes.length + (this.#following?.length ?? 0) - length;
  }

  /** Copies the written bytes behind gRPC's message prefix: a flag for "not compressed", and the length. */
  copyPrefixed(): Buffer {
    const { length } = this;
    this.#reserve(5);
    this.#at -= 5;
    this.#bytes[this.#at] = 0;
    this.#bytes.writeUInt32BE(length, this.#at + 1);
    const message = Buffer.allocUnsafe(this.#bytes.length - this.#at);
    this.#bytes.copy(message, 0, this.#at);
    return message;
  }

  /** @param value a whole number from 0 to 2^53 - 1 */
  varint(value: number): void {
    this.#reserve(8);
    if (value > 0xffff_ffff) return this.#long(value);
    const size = value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
    this.#at -= size;
    let at = this.#at;
    let left = value;
    for (; left > 0x7f; left >>>= 7) this.#bytes[at++] = (left & 0x7f) | 0x80;
    this.#bytes[at] = left;
  }

  /** Writes 32 to 53 bits in exactly eight bytes, or fewer. */
  #long(value: number): void {
    const high = Math.floor(value / 2 ** 28);
    this.varint(high);
    this.#at -= 4;
    let left = value;
    for (let index = 0; index < 4; index++, left = Math.floor(left / 128))
      this.#bytes[this.#at + index] = (left % 128) | 0x80;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#bytes.writeDoubleLE(value, this.#at);
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#at -= value.length;
    this.#bytes.set(value, this.#at);
  }

  /** Writes a text as UTF-8; half of a surrogate pair becomes U+FFFD. */
  text(value: string): void {
    if (value.length <= shortText && this.#plain(value)) return;
    const size = Buffer.byteLength(value);
    this.#reserve(size);
    this.#at -= size;
    this.#bytes.write(value, this.#at, size, "utf8");
  }

  /** Writes a text if it is pure ASCII. @returns whether it was */
  #plain(value: string): boolean {
    const size = value.length;
    this.#reserve(size);
    const from = this.#at - size;
    for (let index = 0; index < size; index++) {
      const code = unitAt(value, index);
      if (code > 0x7f) return false;
      this.#bytes[from + index] = code;
    }
    this.#at = from;
    return true;
  }

  #reserve(size: number): void {
    if (this.#at >= size) return;
    const written = this.#bytes.length - this.#at;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#bytes.length + size));
    this.#at = larger.length - written;
    this.#bytes.copy(larger, this.#at, this.#bytes.length - written);
    this.#bytes = larger;
  }
}
