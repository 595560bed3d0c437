/** Stores API keys. Of their secrets only hashes are stored. */
import type { KeySettings } from "@sluice/proto/contract/records/key-record.js";
import { type KeySettingName, unsetKey } from "@sluice/proto/contract/records/key-settings.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { KeyKind, hashKey, kindOfKey } from "@sluice/proto/lib/ids/key.js";
import { type Kysely, type Selectable, type Transaction, type UpdateObject, sql } from "kysely";
import { requireAccount } from "./account.ts";
import { type Author, changedFields, isSame } from "./audit.ts";
import { deleteContentsOfKey } from "./contents.ts";
import type { Database } from "./database.ts";
import { type ApiKeysTable, withLimitsJson } from "./tables/administration.ts";
import { keepGuardrails } from "./guardrails.ts";
import { moveExternalIds } from "./external-ids.ts";
import { type PolicyChange, currentGeneration, recordChange, recordNoChange } from "./policy.ts";
import { runInTransaction } from "./postgres/transaction.ts";

export type KeyRow = Selectable<ApiKeysTable>;

export interface NewKey extends KeySettings {
  readonly name: string;
  /** The secret text of the key, as created by `mintKey`. */
  readonly key: string;
  /** Whether the key, a management key of the default workspace, may change account-wide records. */
  readonly account?: boolean;
  /** Whether the key is the one with which people act in the console. */
  readonly console?: boolean;
}

export type ChangedKey = PolicyChange & { readonly row: KeyRow };

/** Shortens a key's text: its beginning and end suffice to recognize it, but cannot be used as a key. */
const labelOf = (key: string): string => `${key.slice(0, 10)}...${key.slice(-4)}`;

/** Creates a key; undefined when its hash is known already, so a revoked key stays revoked. @throws AccountError */
export function createKey(database: Kysely<Database>, author: Author, key: NewKey): Promise<ChangedKey | undefined> {
  return runInTransaction(database, (transaction) => addKey(transaction, author, key));
}

/** Adds a key as the last step of a transaction. */
export async function addKey(
  transaction: Transaction<Database>,
  author: Author,
  key: NewKey,
): Promise<ChangedKey | undefined> {
  if (key.account === true) requireAccount(author);
  await lockFurther(transaction, author.workspaceId, key);
  const row = await insertKey(transaction, author.workspaceId, key);
  if (!row) return undefined;
  const entry = { action: "keys.create", target: row.hash, after: row };
  // A process that received a request with this key before its creation has cached it as unknown, so the change is
  // announced.
  return { row, ...(await recordChange(transaction, author, entry, [row.hash])) };
}

/**
 * @throws Fault NOT_FOUND when the workspace was deleted meanwhile: its keys are revoked, and no new key may be added
 */
async function insertKey(
  transaction: Transaction<Database>,
  workspaceId: string,
  { key, account = false, console = false, ...settings }: NewKey,
): Promise<KeyRow | undefined> {
  const workspace = transaction.selectFrom("workspaces").select("id").where("id", "=", workspaceId);
  if (!(await workspace.where("deleted_at", "is", null).forKeyShare().executeTakeFirst())) {
    throw new Fault(FaultReason.NOT_FOUND, "Workspace not found");
  }
  return await transaction
    .insertInto("api_keys")
    .values({
      ...withLimitsJson(settings),
      hash: hashKey(key),
      workspace_id: workspaceId,
      kind: kindOfKey(key) === KeyKind.MANAGEMENT ? "management" : "inference",
      label: labelOf(key),
      account,
      console,
    })
    .onConflict((conflict) => conflict.column("hash").doNothing())
    .returningAll()
    .executeTakeFirst();
}

/**
 * Locks the additional guardrails of a key until the commit. Without the lock, a concurrent change of such a guardrail
 * would miss this key. Guardrails are locked before keys, in the same order as when a guardrail is deleted, which
 * avoids deadlocks.
 * @throws Fault INVALID_REQUEST for a guardrail that the workspace does not have
 */
async function lockFurther(
  transaction: Transaction<Database>,
  workspaceId: string,
  { further_guardrails: ids }: KeySettings,
): Promise<void> {
  if (!ids) return;
  const known = await keepGuardrails(transaction, workspaceId, ids);
  const missing = ids.findIndex((id) => !known.has(id));
  if (missing !== -1) throw invalid(`further_guardrails.${missing}`, "the workspace has no such guardrail");
}

/** Finds a key that is neither revoked, disabled nor expired by the database's clock. */
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

/** A key with the id of its assigned guardrail. */
export type ListedKey = KeyRow & { readonly guardrail_id: string | null };

/** Finds a key of a workspace, even a revoked one. */
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

/** Changes a key; undefined when the workspace has no such key, or it is revoked. */
export function updateKey(
  database: Kysely<Database>,
  author: Author,
  hash: string,
  change: KeySettings,
): Promise<ChangedKey | undefined> {
  return runInTransaction(database, async (transaction) => {
    await lockFurther(transaction, author.workspaceId, change);
    const before = await lockKey(transaction, author.workspaceId, hash);
    if (!before || before.revoked_at !== null) return undefined;
    const stored = await writeKey(transaction, hash, { ...withLimitsJson(change), updated_at: sql<Date>`updated_at` });
    const differing = changedFields(before, stored);
    if (isSame(differing)) return { row: stored, ...(await recordNoChange(transaction)) };
    const row = await writeKey(transaction, hash, { updated_at: sql<Date>`clock_timestamp()` });
    const entry = { action: "keys.update", target: hash, ...differing };
    return { row, ...(await recordChange(transaction, author, entry, isOtherPolicy(before, row) ? [hash] : [])) };
  });
}

const writeKey = (
  transaction: Transaction<Database>,
  hash: string,
  columns: UpdateObject<Database, "api_keys">,
): Promise<KeyRow> =>
  transaction.updateTable("api_keys").set(columns).where("hash", "=", hash).returningAll().executeTakeFirstOrThrow();

const isOtherPolicy = (before: KeyRow, after: KeyRow): boolean =>
  JSON.stringify(cachedPart(before)) !== JSON.stringify(cachedPart(after));

/**
 * The part of a key that processes cache. It lacks the name and the amount of the budget, which is checked on every
 * call.
 */
const cachedPart = ({
  name: _name,
  limit_usd: limit,
  limit_reset: _reset,
  updated_at: _at,
  ...row
}: KeyRow): object => ({
  ...row,
  has_limit: limit !== null,
});

/** Revokes a key; undefined when the workspace has no such key. */
export function revokeKey(database: Kysely<Database>, author: Author, hash: string): Promise<PolicyChange | undefined> {
  return runInTransaction(database, async (transaction) => {
    const key = await lockKey(transaction, author.workspaceId, hash);
    if (!key) return undefined;
    if (key.revoked_at !== null) return { generation: await currentGeneration(transaction), keyHashes: [] };
    const guardrailId = await revokeLocked(transaction, hash);
    await deleteContentsOfKey(transaction, hash);
    const before = { ...key, guardrail_id: guardrailId };
    return recordChange(transaction, author, { action: "keys.revoke", target: hash, before }, [hash]);
  });
}

type RotatedKey = ChangedKey & { readonly key: string };

/**
 * Creates a key with the settings and guardrail of an old key. The old key expires after the overlap; without an
 * overlap it is revoked at once. Undefined when the old key is unknown or revoked.
 */
export async function rotateKey(
  database: Kysely<Database>,
  author: Author,
  hash: string,
  mint: (kind: KeyRow["kind"]) => string,
  overlapSeconds = 0,
): Promise<RotatedKey | undefined> {
  for (;;) {
    const rotated = await runInTransaction(database, async (transaction) => {
      const listed = await lockFurtherOf(transaction, author.workspaceId, hash);
      const old = await lockKey(transaction, author.workspaceId, hash);
      if (!old || old.revoked_at !== null) return undefined;
      // The list of additional guardrails was changed before the key was locked. Start again: after the key, guardrails
      // must not be locked.
      if (!(old.further_guardrails ?? []).every((id) => listed.includes(id))) return "again";
      return await rotateLocked(transaction, author, old, mint(old.kind), overlapSeconds);
    });
    if (rotated !== "again") return rotated;
  }
}

async function rotateLocked(
  transaction: Transaction<Database>,
  author: Author,
  old: KeyRow,
  key: string,
  overlapSeconds: number,
): Promise<RotatedKey> {
  const { hash, account } = old;
  const row = await insertKey(transaction, author.workspaceId, { ...settingsOf(old), key, account });
  if (!row) throw new Error("a freshly minted key exists already");
  await copyAssignment(transaction, hash, row.hash);
  await moveExternalIds(transaction, hash, row.hash);
  if (overlapSeconds === 0) await revokeLocked(transaction, hash);
  else await expireLocked(transaction, hash, overlapSeconds);
  const entry = { action: "keys.rotate", target: hash, before: old, after: row };
  return { row, key, ...(await recordChange(transaction, author, entry, [hash, row.hash])) };
}

/**
 * Locks the additional guardrails of a key not locked yet. @returns the list as it was read; deleted guardrails
 * in it need no lock
 */
async function lockFurtherOf(
  transaction: Transaction<Database>,
  workspaceId: string,
  hash: string,
): Promise<readonly string[]> {
  const key = transaction.selectFrom("api_keys").select("further_guardrails").where("hash", "=", hash);
  const ids = (await key.where("workspace_id", "=", workspaceId).executeTakeFirst())?.further_guardrails ?? [];
  if (ids.length > 0) await keepGuardrails(transaction, workspaceId, ids);
  return ids;
}

/** Copies the assigned guardrail to the new key. The old key keeps it, because it may be used during the overlap. */
async function copyAssignment(transaction: Transaction<Database>, from: string, to: string): Promise<void> {
  await sql`
    insert into guardrail_key_assignments (key_hash, guardrail_id, assigned_by)
    select ${to}, guardrail_id, assigned_by from guardrail_key_assignments where key_hash = ${from}`.execute(
    transaction,
  );
}

/** Lets a key expire after some seconds, but never later than before. In SQL, `least` ignores a null expiry. */
async function expireLocked(transaction: Transaction<Database>, hash: string, seconds: number): Promise<void> {
  await transaction
    .updateTable("api_keys")
    .set({
      expires_at: sql<Date>`least(expires_at, now() + make_interval(secs => ${seconds}))`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("hash", "=", hash)
    .execute();
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

/** Revokes a locked key. @returns the id of its guardrail, or null */
async function revokeLocked(transaction: Transaction<Database>, hash: string): Promise<string | null> {
  const released = await transaction
    .deleteFrom("guardrail_key_assignments")
    .where("key_hash", "=", hash)
    .returning("guardrail_id")
    .executeTakeFirst();
  await transaction.updateTable("api_keys").set({ revoked_at: sql<Date>`now()` }).where("hash", "=", hash).execute();
  return released?.guardrail_id ?? null;
}

function settingsOf(row: KeyRow): KeySettings & { readonly name: string } {
  const names = Object.keys(unsetKey) as KeySettingName[];
  return { ...Object.fromEntries(names.map((name) => [name, row[name]])), name: row.name };
}
