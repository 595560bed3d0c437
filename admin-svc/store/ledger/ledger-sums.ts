/**
 * Selects the rows of the ledger added to the sums. A worker adds rows in the order of the transactions that
 * stored them, up to the oldest transaction still running; reports add the remaining rows when they read.
 */
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { preparedAs } from "../postgres/prepared.ts";
import { callActivity } from "./activity-changes.ts";
import { ledgerChanges } from "./row-sums.ts";
import { isBesideEarlier } from "./sums-progress.ts";
import { changeFigures, changeKeys, joinColumns } from "./usage-rollup.ts";

/** A range of transaction numbers whose rows are added to the sums; `until` is not included. */
export interface FoldedSpan {
  readonly since: string;
  readonly until: string;
  /** Whether further rows can be added at once. */
  readonly hasMore: boolean;
}

export const inSpan = ({ since, until }: FoldedSpan): RawBuilder<unknown> =>
  sql`written >= ${since}::bigint and written < ${until}::bigint`;

/**
 * Advisory lock of every transaction storing rows of the ledger, taken before it gets a transaction number and held
 * until its commit. The two numbers are arbitrary.
 */
export const storingLock = sql`734015530, 6`;

/**
 * Chooses the next range. Rows of a running transaction are invisible and may appear at any time, so the range ends
 * before the oldest running one. Transactions that do not store rows of the ledger, such as those of other databases,
 * do not count: their sessions do not hold the advisory lock. A transaction that ends between the snapshot and the
 * reading of locks is visible to later statements.
 * @param maxRows approximate maximum number of rows
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
 * Raises the numbers of later rows above all earlier ones after a restore from a dump: the new server has counted fewer
 * transactions than the ledger has seen. Waits until no batch is being stored, because a batch in progress has read the
 * old shift.
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
 * Moves the cursor past a range; its rows are then waiting for the sums of end users. The rows of a day are complete
 * two days later, because the ledger takes only turns of today and yesterday.
 * @returns whether an admin-svc of an earlier build may still be running, whose reports expect sums of end users to be
 * complete
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
 * Finds turns of a range that also have a row in the partition of another day. This happens near midnight, when two
 * processes recorded the same turn and both batches were stored at the same moment; within a partition, the second
 * batch fails and is repeated. Each row is searched by its id alone, because a plan made for an empty partition might
 * choose a slow index.
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

/** Whether rows of the ledger wait to be added to the sums. */
export async function hasUnfolded(database: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql`
    select from ledger
    where written >= (select folded from ledger_progress) and opened_at >= (select from_day::timestamp at time zone 'UTC' from ledger_progress)
    limit 1`.execute(database);
  return rows.length > 0;
}

/**
 * Subtracts rows that leave the ledger from the sums that include them. The caller must hold the lock of the sums.
 * @param where selects the rows, and excludes rows without `written`
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
  // Unlike other sums, the totals of keys include a row as soon as it is stored.
  await sql`
    update key_totals set cost_usd = key_totals.cost_usd - spent.cost_usd
    from (select key_hash, sum(cost_usd) as cost_usd from all_calls where ${where} and payer = 'key' and cost_usd is not null group by 1) as spent
    where key_totals.key_hash = spent.key_hash`.execute(transaction);
}
