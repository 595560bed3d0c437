/** A list of key hashes as a bulk operation takes it. */
import { checkStorable, invalid } from "./text.ts";

const maxElements = 500;
/** Hashes have 64; anything up to this is looked up and not found. */
const maxLength = 1_024;

/** The distinct ones. @throws Fault INVALID_REQUEST */
export function checkKeyHashes(keyHashes: readonly string[]): string[] {
  if (keyHashes.length === 0) throw invalid("key_hashes", "at least 1 element");
  if (keyHashes.length > maxElements) throw invalid("key_hashes", `at most ${maxElements} elements`);
  for (const [index, keyHash] of keyHashes.entries()) {
    const field = `key_hashes[${index}]`;
    if (keyHash === "") throw invalid(field, "at least 1 character");
    if (Buffer.byteLength(keyHash) > maxLength) throw invalid(field, `at most ${maxLength} bytes`);
    checkStorable(field, keyHash);
  }
  return [...new Set(keyHashes)];
}
