/**
 * Checks the bytes of a JSON text in one pass before it is parsed: refused texts cost no memory, and accepted texts mean the same to every later parser.
 *
 * JSON.parse takes the last of two equal keys, rounds 1e400 to Infinity, turns invalid UTF-8 into U+FFFD and needs 400 MB for 30 MB of `[],`. All of these
 * are refused with the byte's offset. The object's members are returned as spans, so subtrees can be forwarded exactly as the client wrote them.
 */
import { ElementScan, type ScannedArrays } from "./elements.ts";
import { JsonScanner } from "./scanner.ts";
import type { JsonMember } from "./span.ts";

/**
 * The members of an object's text.
 * @param name path for problems
 * @throws Fault INVALID_REQUEST with the offset of the refused byte
 */
export function scanObject(bytes: Uint8Array, name: string): readonly JsonMember[] {
  const scanner = new JsonScanner(bytes, name, "object");
  scanner.advance(bytes.length);
  return scanner.members;
}

/**
 * Does the same as `scanObject`, and skips the elements of an array that began an array of the same owner before: they were scanned then.
 * @param bytes of an object that one call may scan
 */
export function scanRepeated(bytes: Buffer, name: string, memory: ScannedArrays, owner: string): readonly JsonMember[] {
  const scanner = new JsonScanner(bytes, name, "object", new ElementScan(memory, owner, bytes));
  scanner.advance(bytes.length);
  return scanner.members;
}

/** Bytes per piece: 1 ms, and 7 ms if every other byte starts an escape (Node 20, 2026-11-22). */
export const pieceBytes = 1024 * 1024;

/** Scans an object with pauses. @param pause lets other work run, or throws */
export async function scanObjectInPieces(
  bytes: Uint8Array,
  name: string,
  pause: () => Promise<unknown>,
): Promise<readonly JsonMember[]> {
  const scanner = new JsonScanner(bytes, name, "object");
  while (!scanner.advance(pieceBytes)) await pause();
  return scanner.members;
}

/** Scans a text with any value, counted as nested one level deep. */
export function scanValue(bytes: Uint8Array, name: string): void {
  new JsonScanner(bytes, name, "any").advance(bytes.length);
}
