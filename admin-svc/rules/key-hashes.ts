/** A list of key hashes as a bulk operation takes it. */
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import { checkName } from "@sluice/proto/runtime/validation/text.js";

const maxElements = 500;
/** Hashes have 64; anything up to this is looked up and not found. */
const maxLength = 1_024;

/** The distinct ones. @throws Fault INVALID_REQUEST with every problem */
export function checkKeyHashes(keyHashes: readonly string[]): string[] {
  checked((problems) => {
    if (keyHashes.length === 0) return problems.add("key_hashes", "at least 1 element");
    if (keyHashes.length > maxElements) return problems.add("key_hashes", `at most ${maxElements} elements`);
    for (const [index, keyHash] of keyHashes.entries()) checkName(`key_hashes.${index}`, keyHash, maxLength, problems);
  });
  return [...new Set(keyHashes)];
}
