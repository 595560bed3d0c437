/** Finds keys by their name or by the beginning of their hash. */
import type { Kysely } from "kysely";
import type { Database } from "./database.ts";
import type { KeyRow } from "./keys.ts";

export type KeyReference = Pick<KeyRow, "hash" | "name" | "revoked_at">;

const prefixForm = /^[0-9a-f]{4,63}$/;

/**
 * Keys with this name, and keys whose hash begins with the text if it has at least four hexadecimal digits; revoked
 * keys are included.
 */
export function keysNamed(database: Kysely<Database>, workspaceId: string, text: string): Promise<KeyReference[]> {
  return database
    .selectFrom("api_keys")
    .select(["hash", "name", "revoked_at"])
    .where("workspace_id", "=", workspaceId)
    .where((where) =>
      where.or([where("name", "=", text), ...(prefixForm.test(text) ? [where("hash", "like", `${text}%`)] : [])]),
    )
    .orderBy("created_at")
    .orderBy("hash")
    .execute();
}

/** Maximum number of names read to suggest a similar name. */
const maxNames = 1_000;

/** Names of unrevoked keys, latest first. */
export async function keyNames(database: Kysely<Database>, workspaceId: string): Promise<string[]> {
  const rows = await database
    .selectFrom("api_keys")
    .select("name")
    .where("workspace_id", "=", workspaceId)
    .where("revoked_at", "is", null)
    .orderBy("created_at", "desc")
    .limit(maxNames)
    .execute();
  return rows.map(({ name }) => name);
}
