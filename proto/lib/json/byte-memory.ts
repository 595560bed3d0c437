/** Remembers the results of reading JSON texts, by their bytes. The steps of an agent repeat its tools and its text format, which then cost one comparison. */
import { crc32 } from "node:zlib";

/** Maximum length of all remembered texts. The values read from them take about five times as much memory: 20 MiB at most. */
const maxBytes = 4 * 1024 * 1024;
/** Maximum length of a remembered text. A longer text would push out too many others. */
const maxTextBytes = 256 * 1024;

interface Entry<Value> {
  readonly bytes: Buffer;
  readonly value: Value;
}

export class ByteMemory<Value> {
  /** Remembered texts by their checksums, the least recently used first. */
  readonly #entries = new Map<number, Entry<Value>>();
  #newest: Entry<Value> | undefined;
  #size = 0;

  find(bytes: Buffer): Value | undefined {
    // Computing a checksum takes ten times as long as this comparison.
    if (this.#newest?.bytes.equals(bytes)) return this.#newest.value;
    const checksum = crc32(bytes);
    const entry = this.#entries.get(checksum);
    if (!entry?.bytes.equals(bytes)) return undefined;
    this.#entries.delete(checksum);
    this.#insert(checksum, entry);
    return entry.value;
  }

  /** @param bytes may be part of a larger buffer, so they are copied */
  keep(bytes: Buffer, value: Value): void {
    if (bytes.length > maxTextBytes) return;
    const checksum = crc32(bytes);
    // Two texts with the same checksum replace each other.
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
