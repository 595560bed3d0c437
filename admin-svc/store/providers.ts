/**
 * Stores model providers in the database. They are account-wide; a change is recorded in the audit log of its author's
 * workspace.
 */
import { isDeepStrictEqual } from "node:util";
import { type Kysely, type Selectable, type Transaction, sql } from "kysely";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { providersName } from "@sluice/proto/lib/policy/providers-name.js";
import type { Author } from "./audit.ts";
import type { Database } from "./database.ts";
import { type PolicyChange, lockGeneration, recordChange } from "./policy.ts";
import { runInTransaction } from "./postgres/transaction.ts";
import type { StoredProvidersTable } from "./tables/administration.ts";

export type StoredProviderRow = Selectable<StoredProvidersTable>;

export interface NewStoredProvider {
  readonly id: string;
  /** Settings of the provider without its API keys. */
  readonly settings: JsonObject;
  /** Encrypted API keys; empty for none. */
  readonly sealedKeys: string;
  readonly keyEnds: readonly string[];
}

export type StoredProviderChange = PolicyChange & { readonly row: StoredProviderRow };

export const listStoredProviders = (database: Kysely<Database>): Promise<StoredProviderRow[]> =>
  database.selectFrom("stored_providers").selectAll().orderBy("id").execute();

/** Creates a provider; undefined when the id exists already. */
export function createStoredProvider(
  database: Kysely<Database>,
  author: Author,
  { id, settings, sealedKeys, keyEnds }: NewStoredProvider,
): Promise<StoredProviderChange | undefined> {
  return runInTransaction(database, async (transaction) => {
    await lockGeneration(transaction);
    const row = await transaction
      .insertInto("stored_providers")
      .values({ id, settings: JSON.stringify(settings), sealed_keys: sealedKeys, key_ends: [...keyEnds] })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .returningAll()
      .executeTakeFirst();
    if (!row) return undefined;
    const entry = { action: "providers.create", target: id, after: shown(row) };
    return { row, ...(await recordChange(transaction, author, entry, [providersName])) };
  });
}

/**
 * Replaces a provider. @returns `missing` for an unknown id, `changed` when the provider has another revision than
 * expected
 */
export function replaceStoredProvider(
  database: Kysely<Database>,
  author: Author,
  { id, settings, sealedKeys, keyEnds }: NewStoredProvider,
  revision: bigint,
): Promise<StoredProviderChange | "missing" | "changed"> {
  return runInTransaction(database, async (transaction) => {
    await lockGeneration(transaction);
    const before = await findLocked(transaction, id);
    if (!before) return "missing";
    if (BigInt(before.revision) !== revision) return "changed";
    const row = await transaction
      .updateTable("stored_providers")
      .set({
        settings: JSON.stringify(settings),
        sealed_keys: sealedKeys,
        key_ends: [...keyEnds],
        revision: sql<string>`default`,
        updated_at: sql<Date>`now()`,
      })
      .where("id", "=", id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const entry = { action: "providers.update", target: id, ...differing(before, row) };
    return { row, ...(await recordChange(transaction, author, entry, [providersName])) };
  });
}

/** Deletes a provider; undefined for an unknown id. */
export function deleteStoredProvider(
  database: Kysely<Database>,
  author: Author,
  id: string,
): Promise<PolicyChange | undefined> {
  return runInTransaction(database, async (transaction) => {
    await lockGeneration(transaction);
    const before = await findLocked(transaction, id);
    if (!before) return undefined;
    await transaction.deleteFrom("stored_providers").where("id", "=", id).execute();
    const entry = { action: "providers.delete", target: id, before: shown(before) };
    return recordChange(transaction, author, entry, [providersName]);
  });
}

const findLocked = (transaction: Transaction<Database>, id: string): Promise<StoredProviderRow | undefined> =>
  transaction.selectFrom("stored_providers").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();

/**
 * A provider as the audit log shows it, to every viewer of the author's workspace: only the names of its settings,
 * whose values may contain internal addresses or secrets, and the last characters of its keys.
 */
const shown = ({ settings, key_ends }: StoredProviderRow) => ({
  source: "database",
  settings: Object.keys(settings).toSorted(),
  key_ends,
});

function differing(before: StoredProviderRow, after: StoredProviderRow): { before: object; after: object } {
  const names = [...new Set([...Object.keys(before.settings), ...Object.keys(after.settings)])].toSorted();
  const changed = names.filter((name) => !isDeepStrictEqual(before.settings[name], after.settings[name]));
  const hasOtherKeys = before.sealed_keys !== after.sealed_keys;
  return {
    before: { source: "database", ...(hasOtherKeys && { key_ends: before.key_ends }) },
    after: {
      source: "database",
      changed_settings: changed,
      ...(hasOtherKeys && { key_ends: after.key_ends, has_other_keys: true }),
    },
  };
}
