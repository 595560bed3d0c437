/** Finds the key named by an argument: by its hash, by the beginning of its hash, or by its name. */
import type { Kysely } from "kysely";
import { isKeyHash } from "../rules/key.ts";
import type { Database } from "../store/database.ts";
import { keyNames, keysNamed } from "../store/key-reference.ts";
import { chooseReference, keyNoun } from "./reference.ts";

/** Help of commands with a KEY argument. */
export const keyHelp = "KEY is the hash of a key, the beginning of it that no other key has, or the name of the key.";

/**
 * Hash of the only matching key. A name matches revoked keys only if no other key has the name.
 * @throws CommandError when no key matches, or several do
 */
export async function findKeyHash(database: Kysely<Database>, workspaceId: string, text: string): Promise<string> {
  if (isKeyHash(text)) return text;
  const found = await keysNamed(database, workspaceId, text);
  const candidates = found.map(({ hash, name, revoked_at: at }) => ({ id: hash, name, isLive: at === null }));
  return chooseReference(text, candidates, keyNoun, () => keyNames(database, workspaceId));
}
