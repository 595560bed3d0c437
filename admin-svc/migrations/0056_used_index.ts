/** An index for lists of keys by their last use. Made while keys are used. */
import type { Kysely } from "kysely";
import { makeIndexesOnline } from "./online-indexes.ts";

export const up = (database: Kysely<unknown>): Promise<void> =>
  makeIndexesOnline(database, {
    // Same expression as in the list's query: a key that was never used comes before every other.
    key_totals_used:
      "on key_totals (workspace_id, coalesce(last_used_at, timestamptz '0001-01-01 00:00:00Z'), key_hash)",
  });
