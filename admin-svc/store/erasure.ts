/** Erases the name of an end user from all stored data. Records, sums and audit entries stay, but without the name. */
import { randomUUID } from "node:crypto";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { type Author, erasureAction, recordAudit } from "./audit.ts";
import { deleteContentsOfUser } from "./contents.ts";
import { isOfUser } from "../rules/named-user.ts";
import { deleteRulesOfUser } from "./alerts/rules.ts";
import type { Database } from "./database.ts";
import { foldAll, lockUsageChanges } from "./ledger/fold.ts";
import {
  type ErasedValue,
  closeAccounts,
  hasTagSums,
  isTagValue,
  noteUnrecorded,
  renameInRecords,
  renameInSums,
} from "./ledger/tag-sums.ts";
import { numberOf } from "./ledger/names.ts";
import { lockNamed } from "./named-records.ts";
import { moveSums } from "./ledger/usage-rollup.ts";
import { runInTransaction } from "./postgres/transaction.ts";
import { deleteViewsOfUser } from "./views.ts";

/** Number of places, by kind, in which the name was erased. */
export interface ErasureCounts {
  readonly records: number;
  /** Number of records of other end users whose tags contained the name: turns in the ledger, and calls outside it. */
  readonly tags: number;
  readonly keys: number;
  readonly entries: number;
  /** Number of deleted views and alert rules with the name in a filter, or as their own. */
  readonly views: number;
  readonly rules: number;
  readonly registered: boolean;
}

/**
 * Erases an end user from the records day by day, so an interrupted run can be repeated.
 * @param onDay called after each day with the total so far
 */
export async function eraseEndUser(
  database: Kysely<Database>,
  author: Author,
  user: string,
  onDay: (day: string, records: number) => void,
): Promise<ErasureCounts> {
  const { workspaceId } = author;
  const value: ErasedValue = { workspaceId, value: user, substitute: `erased-${randomUUID()}` };
  let [records, tags] = [0, 0];
  const days = await daysOf(database, workspaceId);
  for (const day of days) {
    const found = await eraseInRecords(database, value, day);
    records += found.records;
    tags += found.tags;
    if (found.records > 0) onDay(day, records);
  }
  await runInTransaction(database, async (transaction) => {
    // The lock prevents a deadlock: batches of records update several sums of tags in varying order.
    await lockUsageChanges(transaction);
    // Renames the sums of days without records. A call that arrived after its day was erased keeps the name, both in
    // its record and in the sums.
    await renameInSums(transaction, value, sql`day <> all(${days}::date[])`);
    await closeAccounts(transaction, value);
  });
  return runInTransaction(database, async (transaction) => {
    await lockNamed(transaction, workspaceId);
    const registered = await transaction
      .deleteFrom("end_users")
      .where("workspace_id", "=", workspaceId)
      .where("user", "=", user)
      .executeTakeFirst();
    const keys = await transaction
      .updateTable("api_keys")
      .set({ external_user: null })
      .where("workspace_id", "=", workspaceId)
      .where("external_user", "=", user)
      .executeTakeFirst();
    await deleteContentsOfUser(transaction, workspaceId, user);
    const views = await deleteViewsOfUser(transaction, workspaceId, user);
    const rules = await deleteRulesOfUser(transaction, workspaceId, user);
    const { sequences, at } = await eraseInAudit(transaction, workspaceId, user);
    const erased = {
      records,
      tags,
      keys: Number(keys.numUpdatedRows),
      entries: sequences.length,
      views,
      rules,
      registered: registered.numDeletedRows > 0n,
    };
    const after = { ...erased, erased_entries: sequences, erased_at_us: at };
    await recordAudit(transaction, author, { action: erasureAction, target: "an end user", after });
    return erased;
  });
}

/** Days in UTC that have records. */
async function daysOf(database: Kysely<Database>, workspaceId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ day: string }>`
    select to_char(day, 'YYYY-MM-DD') as day from generate_series(
      (select least(
        (select min(opened_at) from all_calls where workspace_id = ${workspaceId}),
        (select min(opened_at) from all_turns where workspace_id = ${workspaceId})
      ) at time zone 'UTC')::date,
      (now() at time zone 'UTC')::date + 1,
      '1 day'
    ) as day`.execute(database);
  return rows.map(({ day }) => day);
}

/**
 * Erases the end user from the records of a day, together with session and tags, which may identify the end user. Where
 * other records contain the name as a tag's value, the value is replaced by a substitute, in the sums of tag budgets
 * too.
 */
async function eraseInRecords(
  database: Kysely<Database>,
  value: ErasedValue,
  day: string,
): Promise<{ readonly records: number; readonly tags: number }> {
  const { workspaceId, value: user } = value;
  const within = (column: RawBuilder<unknown>) => sql`
    ${column} >= ${day}::timestamp at time zone 'UTC' and ${column} < (${day}::timestamp + interval '1 day') at time zone 'UTC'`;
  // This search runs before the lock, while batches need not wait.
  const isTag = await isTagValue(database, value, within(sql`opened_at`));
  return runInTransaction(database, async (transaction) => {
    // Without the lock, a concurrently stored record would keep the name while its sums lost it.
    await lockUsageChanges(transaction);
    const during = within(sql`opened_at`);
    const isSummed = await hasTagSums(transaction, workspaceId);
    const inSums = isSummed ? await renameInSums(transaction, value, sql`day = ${day}::date`) : 0;
    // Records are searched again if sums have the value, which may come from a record stored after the first search.
    const tags = isTag || inSums > 0 ? await renameInRecords(transaction, value, during, numberOf(workspaceId)) : 0;
    const ofUser = sql`turn.workspace_id = ${workspaceId} and turn."user" = ${user} and ${within(sql`turn.opened_at`)}`;
    if (isSummed) await noteUnrecorded(transaction, ofUser, within(sql`call.near`));
    const { numAffectedRows = 0n } = await sql`
      update usage_records set "user" = null, session_id = null, tags = null
      where workspace_id = ${workspaceId} and "user" = ${user} and ${within(sql`opened_at`)}`.execute(transaction);
    await sql`
      update turns set "user" = null, session_id = null, tags = null
      where workspace_id = ${workspaceId} and "user" = ${user} and ${within(sql`opened_at`)}`.execute(transaction);
    const { rows } = await sql<{ calls: number }>`
      with erased as (
        update ledger set "user" = null, session_id = null, tags = null
        where workspace = ${numberOf(workspaceId)} and "user" = ${user} and ${within(sql`opened_at`)}
        returning is_moved, attempts, calls
      )
      select coalesce(sum(coalesce(jsonb_array_length(calls), attempts)), 0)::int as calls from erased where not is_moved`.execute(
      transaction,
    );
    await foldAll(transaction);
    await moveSums(transaction, { workspaceId, dimension: "user", value: user, to: "", where: within(sql`at`) });
    return { records: Number(numAffectedRows) + (rows[0]?.calls ?? 0), tags };
  });
}

interface NamedEntry {
  readonly sequence: string;
  readonly target: string | null;
  readonly before: unknown;
  readonly after: unknown;
}

interface ErasedEntries {
  readonly sequences: readonly number[];
  /** Time in microseconds since 1970; null when there is no entry. */
  readonly at: number | null;
}

/**
 * Erases the end user from audit entries. Author, action and time of an entry stay; the digest of its erased content
 * keeps the chain valid. The entry of the erasure lists the erased entries, so no other entry can be passed off as
 * erased; it contains no name itself.
 */
async function eraseInAudit(database: Kysely<Database>, workspaceId: string, user: string): Promise<ErasedEntries> {
  const named = await sql<NamedEntry>`
    select sequence, target, before, after from audit_log
    where workspace_id = ${workspaceId} and erased_at is null and (action like 'views.%' or action like 'alert-rules.%')`.execute(
    database,
  );
  const found = named.rows
    .filter(({ target, before, after }) => isOfUser({ name: target, states: [before, after] }, user))
    .map(({ sequence }) => sequence);
  const { rows } = await sql<{ sequence: string; at: string }>`
    update audit_log set target = null, before = null, after = null, salt = null, erased_at = now()
    where workspace_id = ${workspaceId} and erased_at is null and action <> ${erasureAction} and (
      (action like 'end-users.%' and target = ${user})
      or before ->> 'external_user' = ${user} or after ->> 'external_user' = ${user}
      or sequence = any(${found}::bigint[])
    )
    returning sequence, (extract(epoch from erased_at) * 1000000)::bigint as at`.execute(database);
  const sequences = rows.map(({ sequence }) => Number(sequence)).sort((one, other) => one - other);
  return { sequences, at: rows[0] === undefined ? null : Number(rows[0].at) };
}
