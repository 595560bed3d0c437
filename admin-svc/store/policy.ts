/**
 * The policy generation and the log of its changes.
 *
 * The counter is one row. Its lock is held from the increment to the commit, so generations become visible in order and without holes; the
 * increment is the last statement of a transaction, to keep the lock short.
 */
import { type Kysely, type Transaction, sql } from "kysely";
import { type AuditEntry, type Author, type SignedEntry, auditEntryExpressions } from "./audit.ts";
import type { Database } from "./database.ts";

export const policyChannel = "sluice_policy";

/** Effect of a write on the policy. */
export interface PolicyChange {
  /** First generation with the write in force. */
  readonly generation: bigint;
  /** Keys whose policy changed; empty when no policy changed, null for every key. */
  readonly keyHashes: readonly string[] | null;
  /** Nothing was written, because there was nothing to change. */
  readonly isUnchanged?: true;
}

/** A change of more keys is announced as a change of every key: clearing the caches costs less than naming the keys. */
export const maxNamedKeys = 10_000;

/**
 * Writes the audit entry. When the policy of keys has changed, increments the generation and notifies every listener at commit. Call it last.
 * @param changed null for every key
 */
export const recordChange = (
  transaction: Transaction<Database>,
  author: Author,
  entry: AuditEntry,
  changed: readonly string[] | null,
): Promise<PolicyChange> =>
  recordChanges(transaction, author.workspaceId, [{ author, entry, isOfPolicy: true }], changed);

/** Records several changes of one workspace under one generation. */
export async function recordChanges(
  transaction: Transaction<Database>,
  workspaceId: string,
  entries: readonly SignedEntry[],
  changed: readonly string[] | null,
): Promise<PolicyChange> {
  const keyHashes = changed !== null && changed.length > maxNamedKeys ? null : changed;
  const { rows } = await sql<{ generation: string }>`
    with recursive bumped as (
      update policy_generation set generation = generation + 1 where ${changed?.length !== 0} returning generation
    ),
    logged as (insert into policy_log (generation, key_hashes) select generation, ${keyHashes}::text[] from bumped),
    ${auditEntryExpressions(workspaceId, entries, sql`(select generation from bumped)`)}
    select coalesce(bumped.generation, policy.generation) as generation,
      case when bumped.generation is not null then pg_notify(${policyChannel}, bumped.generation::text) end
    from policy_generation as policy left join bumped on true`.execute(transaction);
  const [row] = rows;
  if (row === undefined) throw new Error("policy_generation has no row");
  return { generation: BigInt(row.generation), keyHashes };
}

/** For a change that locks its workspace: every transaction locks the generation first, then the workspace. */
export async function lockGeneration(transaction: Transaction<Database>): Promise<void> {
  await transaction.selectFrom("policy_generation").select("id").forUpdate().execute();
}

export async function currentGeneration(database: Kysely<Database>): Promise<bigint> {
  const row = await database.selectFrom("policy_generation").select("generation").executeTakeFirstOrThrow();
  return BigInt(row.generation);
}

/** For a write without an effect: no generation, no entry in the audit log. */
export async function recordNoChange(transaction: Transaction<Database>): Promise<PolicyChange> {
  return { generation: await currentGeneration(transaction), keyHashes: [], isUnchanged: true };
}

/** Removes generations older than a day. A watcher requesting removed generations must clear its cache. */
export async function trimPolicyLog(database: Kysely<Database>): Promise<void> {
  await sql`select trim_policy_log()`.execute(database);
}
