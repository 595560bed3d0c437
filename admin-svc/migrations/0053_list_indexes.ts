/** An index for lists of keys by name; the other orders of lists have one. Made while keys are written. */
import type { Kysely } from "kysely";
import { makeIndexesOnline } from "./online-indexes.ts";

export const up = (database: Kysely<unknown>): Promise<void> =>
  makeIndexesOnline(database, {
    api_keys_name: "on api_keys (workspace_id, lower(name), hash) where kind = 'inference' and revoked_at is null",
  });
