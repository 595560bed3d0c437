/**
 * Checks the bytes of a JSON text in one pass before it is parsed, so a refused text takes no memory and an
 * accepted text has the same meaning for every later parser.
 *
 * JSON.parse takes the last of two equal keys, rounds 1e400 to Infinity, turns invalid UTF-8 into U+FFFD and needs 400
 * MB for 30 MB of `[],`. All of these texts are refused, with the offset of the byte. The members of the object are
 * returned as byte ranges, so parts can be forwarded exactly as the client wrote them.
 */
import { ElementScan, type ScannedArrays } from "./elements.ts";
import { JsonScanner } from "./scanner.ts";
import type { JsonMember } from "./span.ts";

/**
 * Checks a text with an object, and returns its members.
 * @param name path for error texts
 * @throws Fault INVALID_REQUEST with the offset of the refused byte
 */
export function scanObject(bytes: Uint8Array, name: string): readonly JsonMember[] {
  const scanner = new JsonScanner(bytes, name, "object");
  scanner.advance(bytes.length);
  return scanner.members;
}

/**
 * Like `scanObject`, but skips elements with which an earlier array of the same owner began, because they were scanned
 * then.
 * @param bytes text of an object, short enough to be scanned without a pause
 */
export function scanRepeated(bytes: Buffer, name: string, memory: ScannedArrays, owner: string): readonly JsonMember[] {
  const scanner = new JsonScanner(bytes, name, "object", new ElementScan(memory, owner, bytes));
  scanner.advance(bytes.length);
  return scanner.members;
}

/**
 * Bytes scanned between two pauses: they take 1 ms, or 7 ms if every other byte starts an escape (Node 20, 2026-11-22).
 */
export const pieceBytes = 1024 * 1024;

/** Like `scanObject`, with pauses. @param pause lets other work run; it may throw to end the scan */
export async function scanObjectInPieces(
  bytes: Uint8Array,
  name: string,
  pause: () => Promise<unknown>,
): Promise<readonly JsonMember[]> {
  const scanner = new JsonScanner(bytes, name, "object");
  while (!scanner.advance(pieceBytes)) await pause();
  return scanner.members;
}

/** Checks a text with any value, which counts as nested in one array or object. */
export function scanValue(bytes: Uint8Array, name: string): void {
  new JsonScanner(bytes, name, "any").advance(bytes.length);
}
