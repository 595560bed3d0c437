/** A list of key hashes as a bulk operation takes it, through whichever door it comes. */
import { keyHashes as shape } from "@sluice/proto/contract/administration.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";

/** The distinct ones. @throws Fault INVALID_REQUEST with every problem */
export function checkKeyHashes(keyHashes: readonly string[]): string[] {
  checked((problems) => shape.check({ key_hashes: keyHashes }, "", problems));
  return [...new Set(keyHashes)];
}
