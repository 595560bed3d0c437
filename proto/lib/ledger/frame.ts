/**
 * Frames of lines in a spool file. The length and CRC-32 in each header reveal a frame that was only partly written.
 * Lines are separated by line feeds.
 */
import { crc32 } from "node:zlib";

/**
 * Size of a frame's header: two unsigned 32-bit numbers, big-endian, for the length of the lines and their CRC-32
 * (IEEE).
 */
const headerBytes = 8;

/** Maximum size of a frame without its header. A larger length means damaged or foreign bytes. */
const maxFrameBytes = 128 * 1024;

const lineFeed = 0x0a;

/** Builds frames in one reusable buffer. */
export class FrameBuilder {
  readonly #bytes = Buffer.allocUnsafeSlow(headerBytes + maxFrameBytes);
  #end = headerBytes;

  get isEmpty(): boolean {
    return this.#end === headerBytes;
  }

  /**
   * Adds a line. @param line without a line feed. @returns false when the frame is too full, so the line was not added
   */
  add(line: string): boolean {
    const at = this.isEmpty ? this.#end : this.#end + 1;
    const room = this.#bytes.length - at;
    // A UTF-16 unit takes at most three bytes, so nearly every line is known to fit without being measured.
    if (3 * line.length > room && Buffer.byteLength(line) > room) return false;
    if (at > this.#end) this.#bytes[this.#end] = lineFeed;
    this.#end = at + this.#bytes.write(line, at);
    return true;
  }

  /** Ends the frame. @returns its bytes, which the next line overwrites */
  finish(): Buffer {
    const frame = this.#bytes.subarray(0, this.#end);
    frame.writeUInt32BE(this.#end - headerBytes, 0);
    frame.writeUInt32BE(crc32(frame.subarray(headerBytes)), 4);
    this.#end = headerBytes;
    return frame;
  }
}

/** A complete frame found among bytes. */
export interface LineFrame {
  /** Position of its first line. */
  readonly start: number;
  /** End of its last line, where the next frame begins. */
  readonly end: number;
}

/**
 * Reads the frame at a position.
 * @returns `partial` when the bytes end before the frame does, `broken` when they are damaged
 */
export function readFrame(bytes: Buffer, at: number): LineFrame | "partial" | "broken" {
  if (at + headerBytes > bytes.length) return "partial";
  const length = bytes.readUInt32BE(at);
  if (length > maxFrameBytes) return "broken";
  const start = at + headerBytes;
  const end = start + length;
  if (end > bytes.length) return "partial";
  if (crc32(bytes.subarray(start, end)) !== bytes.readUInt32BE(at + 4)) return "broken";
  return { start, end };
}

/** Position of the end of the line that starts at `from`. @param end of the frame */
export function endOfLine(bytes: Buffer, from: number, end: number): number {
  const found = bytes.indexOf(lineFeed, from);
  return found === -1 || found > end ? end : found;
}
