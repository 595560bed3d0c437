/** Finds the position of invalid UTF-8 for an error message; whether there is any is decided by `isUtf8`. */
import { isUtf8 } from "node:buffer";

/** Number of bytes that are checked by one call of `isUtf8` in the search. */
const stride = 65_536;

/** Offset of the first byte outside of a valid UTF-8 sequence; the length when all are valid. */
export function firstInvalidUtf8(bytes: Uint8Array): number {
  let at = 0;
  for (let end = stride; end < bytes.length; end += stride) {
    // Moves back to the first byte of a sequence.
    let start = end;
    while (start > end - 4 && (bytes[start]! & 0xc0) === 0x80) start--;
    if (!isUtf8(bytes.subarray(at, start))) break;
    at = start;
  }
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) break;
    at += length;
  }
  return at;
}

/** Length of the valid UTF-8 sequence at an offset; 0 for an invalid one. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] as number;
  if (lead < 0x80) return 1;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  for (let i = 1; i < length; i++) if (((bytes[at + i] ?? 0) & 0xc0) !== 0x80) return 0;
  const second = bytes[at + 1] as number;
  const overlong = (lead === 0xe0 && second < 0xa0) || (lead === 0xf0 && second < 0x90);
  const surrogate = lead === 0xed && second > 0x9f;
  const beyond = lead === 0xf4 && second > 0x8f;
  return overlong || surrogate || beyond ? 0 : length;
}
