/**
 * The policy generation, and the log of policy changes.
 *
 * The generation is a counter in a single row. A transaction holds the row's lock from the increment to its commit, so
 * generations become visible in order and without gaps; the increment is the last statement, to keep the lock short.
 */
import { type Kysely, type Transaction, sql } from "kysely";
import { type AuditEntry, type Author, type SignedEntry, auditEntryExpressions } from "./audit.ts";
import type { Database } from "./database.ts";

export const policyChannel = "sluice_policy";

/** Effect of a write on the policies of keys. */
export interface PolicyChange {
  /** First generation in which the write is in force. */
  readonly generation: bigint;
  /** Hashes of the keys whose policy changed; empty when no policy changed, null for all keys. */
  readonly keyHashes: readonly string[] | null;
  /** Set when nothing was written, because nothing differed. */
  readonly isUnchanged?: true;
}

/**
 * Maximum number of keys named in a change. A change of more keys is announced as one of all keys: clearing the caches
 * costs less than naming so many.
 */
export const maxNamedKeys = 10_000;

/**
 * Writes the audit entry of a change. If policies changed, also increments the generation and notifies every listener
 * at commit. Call it last.
 * @param changed hashes of the changed keys; null for all keys
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

/**
 * Locks the generation. Call it before a change that locks its workspace: every transaction locks the generation first
 * and the workspace second.
 */
export async function lockGeneration(transaction: Transaction<Database>): Promise<void> {
  await transaction.selectFrom("policy_generation").select("id").forUpdate().execute();
}

export async function currentGeneration(database: Kysely<Database>): Promise<bigint> {
  const row = await database.selectFrom("policy_generation").select("generation").executeTakeFirstOrThrow();
  return BigInt(row.generation);
}

/** The result of a write without effect: it gets no new generation and no audit entry. */
export async function recordNoChange(transaction: Transaction<Database>): Promise<PolicyChange> {
  return { generation: await currentGeneration(transaction), keyHashes: [], isUnchanged: true };
}

/** Removes log entries older than a day. A watcher that asks for older entries must clear its cache. */
export async function trimPolicyLog(database: Kysely<Database>): Promise<void> {
  await sql`select trim_policy_log()`.execute(database);
}
