/** Changes of the policy that an inference process has seen, in a file beside its records: after a restore of the database nothing else knows which are void. */
import { readFileSync } from "node:fs";
import { z } from "zod";

export const policyHistoryName = "policy-changes.json";

const change = z.object({
  /** Generation with the change in force. */
  generation: z.string().regex(/^\d+$/),
  /** When the process learned of it, epoch milliseconds. */
  at: z.number(),
  /** Hashes of the changed keys; null for unknown ones, or all. */
  keys: z.array(z.string()).nullable(),
});
const history = z.object({ changes: z.array(change), void: z.array(change) });

export type PolicyHistoryChange = z.infer<typeof change>;

export interface PolicyHistoryRecord {
  /** Ascending by generation. */
  readonly changes: readonly PolicyHistoryChange[];
  /** Changes that a restored database lacks. */
  readonly void: readonly PolicyHistoryChange[];
}

/** @returns no changes for a missing or damaged file */
export function readPolicyHistory(path: string): PolicyHistoryRecord {
  try {
    return history.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return { changes: [], void: [] };
  }
}
