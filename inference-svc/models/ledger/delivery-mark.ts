/**
 * Stores next to a file of the spool how far it is delivered. After a kill, the next start continues there: the
 * database recognizes records delivered twice only as long as it has their rows, and retention may have removed them
 * while the process was down.
 */
import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { unlink } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { deliveryMarkOf } from "@sluice/proto/lib/ledger/spool-files.js";

/** Bytes of a mark: two unsigned 32-bit numbers, big-endian, for the delivered bytes and their CRC-32. */
const markBytes = 8;

export class DeliveryMark {
  readonly #bytes = Buffer.alloc(markBytes);
  #path = "";
  #file = -1;

  /** Overwrites the mark of a file in place. If this fails, the old mark stays, so more is delivered again. */
  note(path: string, delivered: number): void {
    try {
      if (this.#path !== path) this.#open(path);
      this.#bytes.writeUInt32BE(delivered, 0);
      this.#bytes.writeUInt32BE(crc32(this.#bytes.subarray(0, 4)), 4);
      writeSync(this.#file, this.#bytes, 0, markBytes, 0);
    } catch {
      this.close();
    }
  }

  #open(path: string): void {
    this.close();
    this.#file = openSync(deliveryMarkOf(path), "w", 0o600);
    this.#path = path;
  }

  close(): void {
    if (this.#file !== -1) closeSync(this.#file);
    this.#file = -1;
    this.#path = "";
  }
}

/** Number of bytes of a file that are delivered; 0 without a mark, or with a damaged one. */
export function readDeliveryMark(path: string): number {
  try {
    const bytes = readFileSync(deliveryMarkOf(path));
    return crc32(bytes.subarray(0, 4)) === bytes.readUInt32BE(4) ? bytes.readUInt32BE(0) : 0;
  } catch {
    return 0;
  }
}

/** Removes the mark of a file after the file itself: as long as the file is there, the mark keeps it from being delivered again. */
export async function removeDeliveryMark(path: string): Promise<void> {
  if (!existsSync(path)) await unlink(deliveryMarkOf(path)).catch(() => {});
}
