/** Joins a character whose bytes a server has divided between the strings of two events, each of which is then invalid UTF-8. */
import { isUtf8 } from "node:buffer";

const quote = 0x22;

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Length in bytes of the character with this first byte; 0 for a byte that does not begin a character of several bytes. */
function lengthOf(first: number | undefined): number {
  if (first === undefined || first < 0xc2 || first > 0xf4) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/**
 * Moves the first bytes of a divided character from the end of a string to its other bytes, at the start of a string in
 * the next line.
 * @param before bytes the line before has left; empty when it has left none
 * @returns the line as text, and the bytes it leaves; undefined when it is invalid for another reason
 */
export function joinCharacter(
  line: Buffer,
  before: Buffer,
): { readonly line: Buffer; readonly left: Buffer } | undefined {
  const wholeLine = before.length === 0 ? line : withRest(line, before);
  if (wholeLine === undefined || isUtf8(wholeLine))
    return wholeLine && { line: wholeLine, left: wholeLine.subarray(0, 0) };
  for (let end = wholeLine.indexOf(quote); end !== -1; end = wholeLine.indexOf(quote, end + 1)) {
    let start = end - 1;
    while (start > end - 4 && isContinuation(wholeLine[start])) start--;
    if (lengthOf(wholeLine[start]) <= end - start) continue;
    const rest = Buffer.concat([wholeLine.subarray(0, start), wholeLine.subarray(end)]);
    return isUtf8(rest) ? { line: rest, left: Buffer.from(wholeLine.subarray(start, end)) } : undefined;
  }
  return undefined;
}

/** The line with the bytes inserted in front of the first string that starts within a character. @returns undefined when there is none */
function withRest(line: Buffer, before: Buffer): Buffer | undefined {
  const at = line.findIndex((byte, index) => isContinuation(byte) && line[index - 1] === quote);
  return at === -1 ? undefined : Buffer.concat([line.subarray(0, at), before, line.subarray(at)]);
}
