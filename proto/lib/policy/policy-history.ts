/**
 * Policy changes that an inference process has seen, in a file beside its spool. After a restore of the database,
 * nothing else knows which changes are lost.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";

export const policyHistoryName = "policy-changes.json";

const change = z.object({
  /** First generation with the change in force. */
  generation: z.string().regex(/^\d+$/),
  /** When the process learned of the change, in milliseconds since 1970. */
  at: z.number(),
  /** Hashes of the changed keys; null when they are unknown, or all keys changed. */
  keys: z.array(z.string()).nullable(),
});
const history = z.object({ changes: z.array(change), void: z.array(change) });

export type PolicyHistoryChange = z.infer<typeof change>;

export interface PolicyHistoryRecord {
  /** Changes in the order of their generations. */
  readonly changes: readonly PolicyHistoryChange[];
  /** Changes that a restored database lacks. */
  readonly void: readonly PolicyHistoryChange[];
}

/** Reads the file. @returns no changes for a missing or damaged file */
export function readPolicyHistory(path: string): PolicyHistoryRecord {
  try {
    return history.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return { changes: [], void: [] };
  }
}
