/** Changes the assignments of guardrails to keys. A list of keys is changed as a whole or not at all. */
import { type Kysely, type Transaction, sql } from "kysely";
import type { Author, SignedEntry } from "./audit.ts";
import type { Database } from "./database.ts";
import { keepGuardrails } from "./guardrails.ts";
import { type List, type Page, type PagedRows, readPage } from "./page.ts";
import { type PolicyChange, recordChanges } from "./policy.ts";
import { runInTransaction } from "./postgres/transaction.ts";

/** A bulk change: a list of keys, and the guardrail to assign to them or to remove from them. */
export interface Bulk {
  readonly author: Author;
  readonly verb: "assign" | "unassign";
  /** UUID of the guardrail in lower case, as it is stored. */
  readonly guardrailId: string;
  /** Hashes of the keys, without duplicates. */
  readonly keyHashes: readonly string[];
}

export interface BulkResults {
  /**
   * For each bulk, the number of listed keys that have the guardrail after an assignment, or had it before a removal;
   * undefined when the workspace has no such guardrail.
   */
  readonly counts: readonly (number | undefined)[];
  /** The policy change of all bulks together; undefined when no bulk's guardrail was found. */
  readonly change: PolicyChange | undefined;
}

/**
 * Applies several bulks of a workspace as if one after the other: they are combined in memory, and one transaction
 * writes the result.
 */
export function changeAssignments(
  database: Kysely<Database>,
  workspaceId: string,
  bulks: readonly Bulk[],
): Promise<BulkResults> {
  return runInTransaction(database, async (transaction) => {
    const guardrails = await keepGuardrails(
      transaction,
      workspaceId,
      bulks.map(({ guardrailId }) => guardrailId),
    );
    const known = bulks.filter(({ guardrailId }) => guardrails.has(guardrailId));
    if (known.length === 0) return { counts: bulks.map(() => undefined), change: undefined };
    const keyHashes = await lockKeys(transaction, workspaceId, known);
    const holdings = new Holdings(keyHashes, await heldBy(transaction, keyHashes));
    const entries: SignedEntry[] = [];
    const counts = bulks.map((bulk) => {
      if (!guardrails.has(bulk.guardrailId)) return undefined;
      const { count, entry } = bulk.verb === "assign" ? holdings.assign(bulk) : holdings.unassign(bulk);
      entries.push(entry);
      return count;
    });
    await writeHoldings(transaction, holdings);
    return { counts, change: await recordChanges(transaction, workspaceId, entries, [...holdings.moved]) };
  });
}

interface Holding {
  readonly guardrailId: string;
  /** Author of a new assignment; undefined when the key already had the guardrail, so nothing has to be written. */
  readonly assignedBy?: string | null;
}

/** Guardrails of the listed keys, while bulks are applied in memory. */
class Holdings {
  readonly keys: ReadonlySet<string>;
  /** The guardrail of each key, by the hash of the key. */
  readonly held: Map<string, Holding>;
  /** Hashes of all keys whose guardrail a bulk has changed. */
  readonly moved = new Set<string>();

  constructor(keyHashes: readonly string[], before: ReadonlyMap<string, Holding>) {
    this.keys = new Set(keyHashes);
    this.held = new Map(before);
  }

  assign({ author, guardrailId, keyHashes }: Bulk): { count: number; entry: SignedEntry } {
    const own = this.#ownOf(keyHashes);
    const moving = own.filter((keyHash) => this.held.get(keyHash)?.guardrailId !== guardrailId);
    // The audit entry names the previous guardrail of each key, or `none`, so a bulk can be undone.
    const before: Record<string, string[]> = {};
    for (const keyHash of moving) {
      (before[this.held.get(keyHash)?.guardrailId ?? "none"] ??= []).push(keyHash);
      this.held.set(keyHash, { guardrailId, assignedBy: author.keyHash });
      this.moved.add(keyHash);
    }
    const after = { guardrail_id: guardrailId, count: own.length };
    const entry = { action: "guardrails.assign", target: guardrailId, before, after };
    return { count: own.length, entry: { author, entry, isOfPolicy: moving.length > 0 } };
  }

  unassign({ author, guardrailId, keyHashes }: Bulk): { count: number; entry: SignedEntry } {
    const removed = this.#ownOf(keyHashes).filter((keyHash) => this.held.get(keyHash)?.guardrailId === guardrailId);
    for (const keyHash of removed) {
      this.held.delete(keyHash);
      this.moved.add(keyHash);
    }
    const before = { [guardrailId]: removed };
    const entry = { action: "guardrails.unassign", target: guardrailId, before, after: { count: removed.length } };
    return { count: removed.length, entry: { author, entry, isOfPolicy: removed.length > 0 } };
  }

  #ownOf(keyHashes: readonly string[]): string[] {
    return keyHashes.filter((keyHash) => this.keys.has(keyHash));
  }
}

async function writeHoldings(transaction: Transaction<Database>, { held, moved }: Holdings): Promise<void> {
  const freed = [...moved].filter((keyHash) => !held.has(keyHash));
  const given = [...moved].flatMap((keyHash) => {
    const { guardrailId, assignedBy = null } = held.get(keyHash) ?? {};
    return guardrailId === undefined ? [] : [{ keyHash, guardrailId, assignedBy }];
  });
  if (freed.length > 0) {
    await transaction
      .deleteFrom("guardrail_key_assignments")
      .where("key_hash", "=", sql<string>`any(${freed}::text[])`)
      .execute();
  }
  if (given.length === 0) return;
  await sql`
    insert into guardrail_key_assignments (key_hash, guardrail_id, assigned_by)
    select * from unnest(
      ${given.map(({ keyHash }) => keyHash)}::text[],
      ${given.map(({ guardrailId }) => guardrailId)}::uuid[],
      ${given.map(({ assignedBy }) => assignedBy)}::text[])
    on conflict (key_hash) do update
      set guardrail_id = excluded.guardrail_id, assigned_by = excluded.assigned_by,
        assignment_id = excluded.assignment_id, created_at = now()`.execute(transaction);
}

/**
 * Locks the listed keys of the workspace, in the order of their hashes: otherwise two overlapping lists could deadlock.
 */
async function lockKeys(
  transaction: Transaction<Database>,
  workspaceId: string,
  bulks: readonly Bulk[],
): Promise<string[]> {
  const listed = [...new Set(bulks.flatMap(({ keyHashes }) => keyHashes))];
  const rows = await transaction
    .selectFrom("api_keys")
    .select("hash")
    .where("workspace_id", "=", workspaceId)
    .where("revoked_at", "is", null)
    .where("hash", "=", sql<string>`any(${listed}::text[])`)
    .orderBy("hash")
    .forUpdate()
    .execute();
  return rows.map((row) => row.hash);
}

/**
 * Reads the guardrails of locked keys in a separate statement, to see changes committed while the locks were awaited.
 */
async function heldBy(
  transaction: Transaction<Database>,
  keyHashes: readonly string[],
): Promise<ReadonlyMap<string, Holding>> {
  const rows = await transaction
    .selectFrom("guardrail_key_assignments")
    .select(["key_hash", "guardrail_id"])
    .where("key_hash", "=", sql<string>`any(${keyHashes}::text[])`)
    .execute();
  return new Map(rows.map(({ key_hash: keyHash, guardrail_id: guardrailId }) => [keyHash, { guardrailId }]));
}

/** A key with its assigned guardrail. */
export interface AssignmentRow {
  readonly id: string;
  readonly guardrail_id: string;
  readonly key_hash: string;
  readonly key_name: string;
  readonly key_label: string;
  readonly assigned_by: string | null;
  readonly created_at: Date;
}

export interface AssignmentFilter {
  readonly workspaceId: string;
  /** Id of the guardrail whose assignments are listed; undefined for all guardrails of the workspace. */
  readonly guardrailId?: string | undefined;
}

/**
 * Lists a page of assignments in the order of their guardrails, oldest first. Undefined when the workspace has no such
 * guardrail.
 */
export async function pageOfAssignments(
  database: Kysely<Database>,
  { workspaceId, guardrailId }: AssignmentFilter,
  page: Page,
): Promise<PagedRows<AssignmentRow> | undefined> {
  if (guardrailId !== undefined) {
    const guardrail = database.selectFrom("guardrails").select("id").where("id", "=", guardrailId);
    if (!(await guardrail.where("workspace_id", "=", workspaceId).executeTakeFirst())) return undefined;
  }
  const list: List = {
    scope: ["assignments", workspaceId, guardrailId ?? null],
    listed: sql`
      select assignment.guardrail_id, assignment.created_at, assignment.key_hash
      from guardrails join guardrail_key_assignments as assignment on assignment.guardrail_id = guardrails.id
      where guardrails.workspace_id = ${workspaceId}
        and ${guardrailId === undefined ? sql`true` : sql`assignment.guardrail_id = ${guardrailId}`}`,
    order: [
      [sql`guardrail_id`, "uuid"],
      [sql`created_at`, "time"],
      [sql`key_hash`, "text"],
    ],
    rows: sql`
      join guardrail_key_assignments as assignment on assignment.key_hash = page.key_hash
      join api_keys as key on key.hash = page.key_hash`,
    columns: sql`
      assignment.assignment_id as id, assignment.guardrail_id, assignment.key_hash, key.name as key_name, key.label as key_label, assignment.assigned_by,
      assignment.created_at`,
  };
  return await readPage(database, list, page);
}
