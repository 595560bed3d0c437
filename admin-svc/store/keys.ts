/** API keys: only their hashes are here. */
import { KeyKind, hashKey, kindOfKey } from "@sluice/proto/runtime/key.js";
import { type Kysely, type Selectable, type Transaction, sql } from "kysely";
import { requireAccount } from "./account.ts";
import { type Author, difference } from "./audit.ts";
import type { ApiKeysTable, Database, LimitReset } from "./database.ts";
import { type Page, type Paged, readTogether } from "./page.ts";
import { type PolicyChange, currentGeneration, recordChange } from "./policy.ts";
import { type RateLimitSettings, rateLimitColumns, rateLimitsOf, sameRateLimits } from "./rate-limits.ts";
import { transact } from "./transaction.ts";

export type KeyRow = Selectable<ApiKeysTable>;

export interface NewKey extends RateLimitSettings {
  readonly name: string;
  /** As `mintKey` makes it. */
  readonly key: string;
  readonly expiresAt?: Date | null;
  readonly externalUser?: string | null;
  readonly disabled?: boolean;
  /** USD, decimal. */
  readonly limitUsd?: string | null;
  readonly limitReset?: LimitReset | null;
  /** Of a management key of the default workspace: whether it may change what holds for every workspace. */
  readonly account?: boolean;
}

/** What of a key can be changed; what is absent stays as it is. */
export interface KeyChange extends RateLimitSettings {
  readonly name?: string;
  readonly disabled?: boolean;
  /** Null: it does not expire. */
  readonly expiresAt?: Date | null;
  readonly externalUser?: string | null;
  /** USD, decimal. Null: any amount. */
  readonly limitUsd?: string | null;
  readonly limitReset?: LimitReset | null;
}

export type ChangedKey = PolicyChange & { readonly row: KeyRow };

/** The key with its middle left out: enough to recognise it, useless to anybody else. */
const labelOf = (key: string): string => `${key.slice(0, 10)}...${key.slice(-4)}`;

/** The stored key, or undefined when its hash is known already: a revoked key stays revoked. @throws AccountError */
export function createKey(database: Kysely<Database>, author: Author, key: NewKey): Promise<ChangedKey | undefined> {
  return transact(database, (transaction) => addKey(transaction, author, key));
}

/** The same, as the last step of a transaction. */
export async function addKey(
  transaction: Transaction<Database>,
  author: Author,
  key: NewKey,
): Promise<ChangedKey | undefined> {
  if (key.account === true) requireAccount(author);
  const row = await insertKey(transaction, author.workspaceId, key);
  if (!row) return undefined;
  const entry = { action: "keys.create", target: row.hash, after: row };
  // Whoever tried this key too early holds it as unknown.
  return { row, ...(await recordChange(transaction, author, entry, [row.hash])) };
}

function insertKey(transaction: Transaction<Database>, workspaceId: string, key: NewKey): Promise<KeyRow | undefined> {
  return transaction
    .insertInto("api_keys")
    .values({
      hash: hashKey(key.key),
      workspace_id: workspaceId,
      name: key.name,
      kind: kindOfKey(key.key) === KeyKind.MANAGEMENT ? "management" : "inference",
      label: labelOf(key.key),
      expires_at: key.expiresAt ?? null,
      external_user: key.externalUser ?? null,
      disabled: key.disabled ?? false,
      limit_usd: key.limitUsd ?? null,
      limit_reset: key.limitReset ?? null,
      account: key.account ?? false,
      ...rateLimitColumns(key),
    })
    .onConflict((conflict) => conflict.column("hash").doNothing())
    .returningAll()
    .executeTakeFirst();
}

/** An enabled key that has not expired, by the database's clock. */
export function findLiveKey(database: Kysely<Database>, hash: string): Promise<KeyRow | undefined> {
  return database
    .selectFrom("api_keys")
    .selectAll()
    .where("hash", "=", hash)
    .where("revoked_at", "is", null)
    .where("disabled", "=", false)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", sql<Date>`now()`)]))
    .executeTakeFirst();
}

/** A key as a list shows it. */
export type ListedKey = KeyRow & { readonly guardrail_id: string | null };

export function listKeys(database: Kysely<Database>, workspaceId: string): Promise<ListedKey[]> {
  return database
    .selectFrom("api_keys")
    .leftJoin("guardrail_key_assignments", "key_hash", "hash")
    .selectAll("api_keys")
    .select("guardrail_id")
    .where("workspace_id", "=", workspaceId)
    .orderBy("api_keys.created_at")
    .orderBy("hash")
    .execute();
}

export interface KeyFilter {
  readonly workspaceId: string;
  readonly includeDisabled: boolean;
}

/** Inference keys that are not revoked, oldest first. */
export function pageOfKeys(database: Kysely<Database>, filter: KeyFilter, page: Page): Promise<Paged<KeyRow>> {
  return readTogether(database, async (snapshot) => {
    const keys = snapshot
      .selectFrom("api_keys")
      .where("workspace_id", "=", filter.workspaceId)
      .where("kind", "=", "inference")
      .where("revoked_at", "is", null)
      .$if(!filter.includeDisabled, (enabled) => enabled.where("disabled", "=", false));
    const { total } = await keys
      .select((select) => select.cast<number>(select.fn.countAll(), "integer").as("total"))
      .executeTakeFirstOrThrow();
    const rows = await keys
      .selectAll()
      .orderBy("created_at")
      .orderBy("hash")
      .offset(page.offset)
      .limit(page.limit)
      .execute();
    return { rows, total };
  });
}

/** Revoked keys as well. */
export function findKey(database: Kysely<Database>, workspaceId: string, hash: string): Promise<ListedKey | undefined> {
  return database
    .selectFrom("api_keys")
    .leftJoin("guardrail_key_assignments", "key_hash", "hash")
    .selectAll("api_keys")
    .select("guardrail_id")
    .where("hash", "=", hash)
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirst();
}

/** Undefined when the workspace has no such key, or it is revoked. */
export function updateKey(
  database: Kysely<Database>,
  author: Author,
  hash: string,
  change: KeyChange,
): Promise<ChangedKey | undefined> {
  return transact(database, async (transaction) => {
    const before = await lockKey(transaction, author.workspaceId, hash);
    if (!before || before.revoked_at !== null) return undefined;
    const { name, disabled, expiresAt, externalUser, limitUsd, limitReset } = change;
    const row = await transaction
      .updateTable("api_keys")
      .set({
        ...(name !== undefined && { name }),
        ...(disabled !== undefined && { disabled }),
        ...(expiresAt !== undefined && { expires_at: expiresAt }),
        ...(externalUser !== undefined && { external_user: externalUser }),
        ...(limitUsd !== undefined && { limit_usd: limitUsd }),
        ...(limitReset !== undefined && { limit_reset: limitReset }),
        ...rateLimitColumns(change),
        updated_at: sql<Date>`clock_timestamp()`,
      })
      .where("hash", "=", hash)
      .returningAll()
      .executeTakeFirstOrThrow();
    const entry = { action: "keys.update", target: hash, ...difference(before, row) };
    return { row, ...(await recordChange(transaction, author, entry, isOtherPolicy(before, row) ? [hash] : [])) };
  });
}

/** A name decides nothing; how large a budget is, is asked for each call. */
const isOtherPolicy = (before: KeyRow, after: KeyRow): boolean =>
  (before.limit_usd === null) !== (after.limit_usd === null) ||
  before.disabled !== after.disabled ||
  before.external_user !== after.external_user ||
  !sameRateLimits(before, after) ||
  before.expires_at?.getTime() !== after.expires_at?.getTime();

/** What was done, or undefined when the workspace has no such key. */
export function revokeKey(database: Kysely<Database>, author: Author, hash: string): Promise<PolicyChange | undefined> {
  return transact(database, async (transaction) => {
    const key = await lockKey(transaction, author.workspaceId, hash);
    if (!key) return undefined;
    if (key.revoked_at !== null) return { generation: await currentGeneration(transaction), keyHashes: [] };
    const guardrailId = await revokeLocked(transaction, hash);
    const before = { ...key, guardrail_id: guardrailId };
    return recordChange(transaction, author, { action: "keys.revoke", target: hash, before }, [hash]);
  });
}

/** A new key with everything that the old one had, which is revoked; undefined when that is unknown or revoked. */
export function rotateKey(
  database: Kysely<Database>,
  author: Author,
  hash: string,
  mint: (kind: KeyRow["kind"]) => string,
): Promise<{ readonly row: KeyRow; readonly key: string } | undefined> {
  return transact(database, async (transaction) => {
    const old = await lockKey(transaction, author.workspaceId, hash);
    if (!old || old.revoked_at !== null) return undefined;
    const key = mint(old.kind);
    const row = await insertKey(transaction, author.workspaceId, {
      name: old.name,
      key,
      expiresAt: old.expires_at,
      limitUsd: old.limit_usd,
      limitReset: old.limit_reset,
      externalUser: old.external_user,
      disabled: old.disabled,
      account: old.account,
      ...rateLimitsOf(old),
    });
    if (!row) throw new Error("a freshly minted key exists already");
    await transaction
      .updateTable("guardrail_key_assignments")
      .set({ key_hash: row.hash })
      .where("key_hash", "=", hash)
      .execute();
    await revokeLocked(transaction, hash);
    const entry = { action: "keys.rotate", target: hash, before: old, after: row };
    await recordChange(transaction, author, entry, [hash, row.hash]);
    return { row, key };
  });
}

function lockKey(transaction: Transaction<Database>, workspaceId: string, hash: string): Promise<KeyRow | undefined> {
  return transaction
    .selectFrom("api_keys")
    .selectAll()
    .where("hash", "=", hash)
    .where("workspace_id", "=", workspaceId)
    .forUpdate()
    .executeTakeFirst();
}

/** @returns the guardrail that it held, or null */
async function revokeLocked(transaction: Transaction<Database>, hash: string): Promise<string | null> {
  const released = await transaction
    .deleteFrom("guardrail_key_assignments")
    .where("key_hash", "=", hash)
    .returning("guardrail_id")
    .executeTakeFirst();
  await transaction.updateTable("api_keys").set({ revoked_at: sql<Date>`now()` }).where("hash", "=", hash).execute();
  return released?.guardrail_id ?? null;
}
