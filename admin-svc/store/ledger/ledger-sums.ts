/**
 * Rows of the ledger on their way into the sums. A worker adds rows in the order of the transactions that stored them, up to the oldest one still under
 * way; reports add the rest when they read.
 */
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { preparedAs } from "../postgres/prepared.ts";
import { callActivity } from "./activity-changes.ts";
import { ledgerChanges } from "./row-sums.ts";
import { isBesideEarlier } from "./sums-progress.ts";
import { changeFigures, changeKeys, joinColumns } from "./usage-rollup.ts";

/** Transactions whose rows are added to the sums, by the number of the first one and of the one after the last. */
export interface FoldedSpan {
  readonly since: string;
  readonly until: string;
  /** Whether later rows can be added at once. */
  readonly hasMore: boolean;
}

export const inSpan = ({ since, until }: FoldedSpan): RawBuilder<unknown> =>
  sql`written >= ${since}::bigint and written < ${until}::bigint`;

/** Held by every transaction that stores rows of the ledger, from before it has a number to its commit; any two numbers would do. */
export const storingLock = sql`734015530, 6`;

/**
 * The next span. Rows of a transaction still under way are invisible and may come at any time, so a span ends before the oldest one. Transactions that only write
 * elsewhere, such as those of other databases of the server, do not count: their number is locked by a session without the lock of the ledger. A transaction
 * that ends between the snapshot and the look at the locks is visible to the statements that follow.
 * @param maxRows about the maximum number of rows of the span
 */
export async function nextSpan(transaction: Transaction<Database>, maxRows: number): Promise<FoldedSpan> {
  const { rows } = await sql<{ since: string; until: string; has_more: boolean }>`${preparedAs("next_span")}
    with progress as materialized (select folded, shift, from_day::timestamp at time zone 'UTC' as since from ledger_progress),
    locks as materialized (select * from pg_locks where granted and locktype in ('transactionid', 'advisory')),
    storing as (
      select pid from locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
        and (classid::bigint, objid::bigint) = (${storingLock}) and objsubid = 2
    ),
    oldest as materialized (
      select coalesce(min(under_way), pg_snapshot_xmax(pg_current_snapshot()))::text::bigint + (select shift from progress) as number
      from pg_snapshot_xip(pg_current_snapshot()) as under_way
      where not exists (
        select from locks where locktype = 'transactionid' and mode = 'ExclusiveLock' and transactionid = under_way::xid
          and pid is not null and pid not in (select pid from storing)
      )
    ),
    waiting as materialized (
      select written from ledger where written >= (select folded from progress) and opened_at >= (select since from progress)
      order by written limit ${maxRows} + 1
    ),
    -- A transaction belongs to one span, however many rows it has.
    spans as (
      select folded as since, number as oldest, case when (select count(*) from waiting) > ${maxRows} then (
        select written from ledger where written > (select min(written) from waiting) and written >= (select max(written) from waiting)
          and opened_at >= (select since from progress)
        order by written limit 1
      ) end as beyond
      from progress cross join oldest
    )
    select since::text, greatest(since, least(oldest, beyond))::text as until, coalesce(beyond < oldest, false) as has_more from spans`.execute(
    transaction,
  );
  const [span] = rows;
  if (span === undefined) throw new Error("ledger_progress has no row");
  return { since: span.since, until: span.until, hasMore: span.has_more };
}

/**
 * Shifts the numbers of later rows behind all others when the server has had fewer transactions than the ledger knows: the database was restored from a dump.
 * Waits until no batch is being stored, since each has read the shift.
 */
export async function shiftAfterRestore(transaction: Transaction<Database>): Promise<void> {
  const isRestored = sql`folded > pg_snapshot_xmax(pg_current_snapshot())::text::bigint + shift`;
  const { rows } = await sql`select from ledger_progress where ${isRestored}`.execute(transaction);
  if (rows.length === 0) return;
  await sql`select pg_advisory_xact_lock(${storingLock})`.execute(transaction);
  await sql`
    update ledger_progress set shift = greatest(folded, (select max(written) from ledger)) + 1 where ${isRestored}`.execute(
    transaction,
  );
}

/**
 * Moves the cursor behind a span, which the sums of end users lack yet. The rows of a day are complete two days later, because the ledger takes turns of today and
 * yesterday.
 * @returns whether an earlier build, whose reports expect end users in all other sums, may still serve
 */
export async function passSpan(
  transaction: Transaction<Database>,
  { since, until, hasMore }: FoldedSpan,
): Promise<boolean> {
  const { rows } = await sql<{ beside: boolean }>`
    update ledger_progress set folded = ${until}::bigint,
      users_from_day = case when isempty(unsummed_users) then from_day else users_from_day end,
      unsummed_users = unsummed_users + int8multirange(int8range(${since}::bigint, ${until}::bigint)),
      from_day = case when ${hasMore} then from_day else greatest(from_day, (now() at time zone 'UTC')::date - 2) end
    returning ${isBesideEarlier} as beside`.execute(transaction);
  return rows[0]?.beside === true;
}

/**
 * Ids of turns of a span with a row in the partition of another day, near midnight: two processes recorded the same turn, and both batches were stored at the
 * same moment. Within a partition, the second batch fails and is repeated. Each row is sought by its id alone, as no other index finds it in one step, and a plan
 * made for an empty partition may otherwise choose another one.
 */
export async function doubledTurns(transaction: Transaction<Database>, span: FoldedSpan): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`${preparedAs("doubled_turns")}
    with added as materialized (
      select generation_id, key, opened_at, log_sequence from ledger
      where ${inSpan(span)} and not is_moved and extract(hour from opened_at at time zone 'UTC') in (0, 23)
    )
    select distinct added.generation_id as id from added cross join lateral (
      select from ledger
      where generation_id = added.generation_id and key - added.key = 0 and log_sequence - added.log_sequence <> 0 and not is_moved
        and opened_at between added.opened_at - interval '2 hours' and added.opened_at + interval '2 hours'
      offset 0
    ) as other`.execute(transaction);
  return rows.map(({ id }) => id);
}

/** Whether rows wait. */
export async function hasUnfolded(database: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql`
    select from ledger
    where written >= (select folded from ledger_progress) and opened_at >= (select from_day::timestamp at time zone 'UTC' from ledger_progress)
    limit 1`.execute(database);
  return rows.length > 0;
}

/**
 * Takes rows that leave the ledger out of the sums, as far as these include them. The caller holds the lock of the sums.
 * @param where selects the rows, and excludes those without `written`
 */
export async function withdrawRows(transaction: Transaction<Database>, where: RawBuilder<unknown>): Promise<void> {
  const isFolded = sql`${where} and written < (select folded from ledger_progress)`;
  await sql`
    insert into usage_changes select ${joinColumns([...changeKeys, ...changeFigures.map((figure) => `-${figure}`)])}
    from (${ledgerChanges(isFolded)}) as changes`.execute(transaction);
  await sql`
    insert into activity_changes select workspace_id, key_hash, day, model, provider, service_tier, operation, door, task, -cost_usd, -calls, -requests,
      -input_tokens, -output_tokens, -reasoning_tokens
    from (${callActivity(sql`(select * from all_calls where ${isFolded})`, sql`ends_turn`)}) as changes`.execute(
    transaction,
  );
  // The totals of keys include a row from the transaction that stores it.
  await sql`
    update key_totals set cost_usd = key_totals.cost_usd - spent.cost_usd
    from (select key_hash, sum(cost_usd) as cost_usd from all_calls where ${where} and payer = 'key' and cost_usd is not null group by 1) as spent
    where key_totals.key_hash = spent.key_hash`.execute(transaction);
}
