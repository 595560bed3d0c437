/** Records in a file: length and CRC-32 of each, so that a record that was not written to its end is told from one that was. */
import { crc32 } from "node:zlib";

/** Two unsigned 32-bit numbers, big-endian: bytes of the record, and their CRC-32 (IEEE). */
const headerBytes = 8;

/** What is longer is no length: the bytes are not ours, or torn. */
const longestRecord = 128 * 1024;

export function frameOf(record: string): Buffer {
  const length = Buffer.byteLength(record);
  const frame = Buffer.allocUnsafe(headerBytes + length);
  frame.write(record, headerBytes);
  frame.writeUInt32BE(length, 0);
  frame.writeUInt32BE(crc32(frame.subarray(headerBytes)), 4);
  return frame;
}

export interface Frames {
  readonly records: readonly Buffer[];
  /** Bytes of the whole frames. */
  readonly end: number;
  /** Whether what follows is no frame, and not merely the beginning of one. */
  readonly broken: boolean;
}

/** The whole frames at the beginning of the bytes. @param most records that are wanted */
export function readFrames(bytes: Buffer, most: number): Frames {
  const records: Buffer[] = [];
  let at = 0;
  while (records.length < most && at + headerBytes <= bytes.length) {
    const length = bytes.readUInt32BE(at);
    if (length > longestRecord) return { records, end: at, broken: true };
    const end = at + headerBytes + length;
    if (end > bytes.length) break;
    const record = bytes.subarray(at + headerBytes, end);
    if (crc32(record) !== bytes.readUInt32BE(at + 4)) return { records, end: at, broken: true };
    records.push(record);
    at = end;
  }
  return { records, end: at, broken: false };
}
