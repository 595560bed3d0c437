/**
 * Remembers results of parsing JSON texts, by their bytes. The steps of an agent repeat its tools and its text format;
 * each repetition then takes only one comparison.
 */
import { crc32 } from "node:zlib";

/**
 * Maximum size in bytes of all remembered texts. The parsed values take about five times as much memory, at most 20
 * MiB.
 */
const maxBytes = 4 * 1024 * 1024;
/** Maximum size in bytes of a remembered text: a longer one would push out too many others. */
const maxTextBytes = 256 * 1024;

interface Entry<Value> {
  readonly bytes: Buffer;
  readonly value: Value;
}

export class ByteMemory<Value> {
  /** Remembered texts by their checksums; the least recently used come first. */
  readonly #entries = new Map<number, Entry<Value>>();
  #newest: Entry<Value> | undefined;
  #size = 0;

  find(bytes: Buffer): Value | undefined {
    // The newest text is compared first, because a checksum takes ten times as long.
    if (this.#newest?.bytes.equals(bytes)) return this.#newest.value;
    const checksum = crc32(bytes);
    const entry = this.#entries.get(checksum);
    if (!entry?.bytes.equals(bytes)) return undefined;
    this.#entries.delete(checksum);
    this.#insert(checksum, entry);
    return entry.value;
  }

  /** Remembers a result. @param bytes are copied, because they may be part of a larger buffer */
  keep(bytes: Buffer, value: Value): void {
    if (bytes.length > maxTextBytes) return;
    const checksum = crc32(bytes);
    // Of two texts with the same checksum, only the newer is kept.
    this.#remove(checksum);
    this.#insert(checksum, { bytes: Buffer.from(bytes), value });
    this.#size += bytes.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= maxBytes) return;
      this.#remove(oldest);
    }
  }

  #insert(checksum: number, entry: Entry<Value>): void {
    this.#entries.set(checksum, entry);
    this.#newest = entry;
  }

  #remove(checksum: number): void {
    const entry = this.#entries.get(checksum);
    if (entry === undefined) return;
    this.#entries.delete(checksum);
    this.#size -= entry.bytes.length;
  }
}
