/**
 * One pass over the bytes of a JSON text before anything parses it: what is refused here can cost no memory, and what is accepted
 * means the same to every parser behind us.
 *
 * JSON.parse takes the last of two equal keys, rounds 1e400 to Infinity, turns invalid UTF-8 into U+FFFD and needs 400 MB for 30 MB of
 * `[],`. All of that is refused with the offset of the byte. The object's members are returned as spans, so that subtrees can travel as
 * the client wrote them.
 */
import { Scanner } from "./json-scanner.ts";
import type { Member } from "./json-span.ts";

/**
 * The members of the object that the text is.
 * @param name what problems are reported under
 * @throws Fault INVALID_REQUEST naming the byte at which the text is refused
 */
export function scanObject(bytes: Uint8Array, name: string): readonly Member[] {
  const scanner = new Scanner(bytes, name, "object");
  scanner.advance(bytes.length);
  return scanner.members;
}

/** So much is scanned in 1 ms, and in 7 ms if every other byte begins an escape (Node 20, 2026-11-22): a longer text is worth leaving for a while. */
export const pieceBytes = 1024 * 1024;

/** The same, piece by piece. @param pause lets others have their turn, or throws */
export async function scanObjectInPieces(
  bytes: Uint8Array,
  name: string,
  pause: () => Promise<unknown>,
): Promise<readonly Member[]> {
  const scanner = new Scanner(bytes, name, "object");
  while (!scanner.advance(pieceBytes)) await pause();
  return scanner.members;
}

/** The same for a text that may be any value, and stands in a body for the limits. */
export function scanValue(bytes: Uint8Array, name: string): void {
  new Scanner(bytes, name, "any").advance(bytes.length);
}
