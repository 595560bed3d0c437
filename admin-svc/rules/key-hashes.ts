/** Checks the list of key hashes of a bulk operation, over gRPC and on the command line. */
import { keyHashes as shape } from "@sluice/proto/contract/operations/administration.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";

/** Removes duplicates. @throws Fault INVALID_REQUEST with every problem */
export function checkKeyHashes(keyHashes: readonly string[]): string[] {
  throwProblems((problems) => shape.check({ key_hashes: keyHashes }, "", problems));
  return [...new Set(keyHashes)];
}
