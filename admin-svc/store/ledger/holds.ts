/**
 * States of a budget reservation. While its call runs, a reservation is a hold. The cost of a finished call counts as
 * spent, even before its record is stored. If a process has not renewed its reservations for ten minutes, they count as
 * spent too: the cost of the calls is unknown until their records arrive, and the same amount must not be granted
 * twice.
 */
import { type Kysely, type RawBuilder, sql } from "kysely";
import { type Author, recordAudit } from "../audit.ts";
import { type Database, defaultWorkspaceId } from "../database.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { periodStart } from "./spending.ts";

/** Minutes without a renewal after which a reservation counts as spent. */
export const holdMinutes = 10;

/** SQL condition on reservations that no process renews. */
export const isAbandoned: RawBuilder<boolean> = sql<boolean>`
  (not is_settled and expires_at <= now() and coalesce(boot_id <> all (array(
    select process.boot_id from budget_processes as process where renewed_at > now() - make_interval(mins => ${holdMinutes})
  )), true))`;

/**
 * SQL columns with sums of reservations in USD: `charged` counts as spent in the current budget period, `held` belongs
 * to running calls. Reads the column `limit_reset`.
 */
export const reservedSums: RawBuilder<unknown> = sql`
  coalesce(sum(amount_usd) filter (
    where (is_settled or ${isAbandoned}) and (reserved_at at time zone 'UTC')::date >= ${periodStart}
  ), 0) as charged,
  coalesce(sum(amount_usd) filter (where not is_settled and not ${isAbandoned}), 0) as held`;

export interface SettledCall {
  readonly turnId: string;
  readonly attempt: number;
  /** Cost in USD as a decimal; empty for a call without cost. */
  readonly costUsd: string;
}

/**
 * Lowers the reservations of finished calls to their costs, and releases those of calls without cost. Skips a
 * reservation that a record is just removing, instead of waiting for it.
 * @returns the number of skipped reservations
 */
export async function settleHolds(database: Kysely<Database>, calls: readonly SettledCall[]): Promise<number> {
  const turns = calls.map(({ turnId }) => turnId);
  const attempts = calls.map(({ attempt }) => attempt);
  const costs = calls.map(({ costUsd }) => (costUsd === "" ? null : costUsd));
  const { rows } = await sql<{ busy: number }>`
    with ended as (
      select * from unnest(${turns}::uuid[], ${attempts}::smallint[], ${costs}::numeric[]) as ended (turn_id, attempt, cost_usd)
    ),
    free as (
      select turn_id, attempt, cost_usd from budget_reservations as held join ended using (turn_id, attempt)
      for update of held skip locked
    ),
    released as (
      delete from budget_reservations as held using free
      where held.turn_id = free.turn_id and held.attempt = free.attempt and cost_usd is null
    ),
    lowered as (
      update budget_reservations as held set amount_usd = cost_usd, is_settled = true
      from free
      where held.turn_id = free.turn_id and held.attempt = free.attempt and cost_usd is not null
    )
    select ((select count(*) from budget_reservations join ended using (turn_id, attempt)) - count(*))::int as busy
    from free`.execute(database);
  return rows[0]?.busy ?? 0;
}

/** Renews all reservations of one start of a process. */
export async function renewHolds(database: Kysely<Database>, bootId: string, instance: string): Promise<void> {
  await sql`
    insert into budget_processes (boot_id, instance, renewed_at) values (${bootId}::uuid, ${instance}, now())
    on conflict (boot_id) do update set renewed_at = excluded.renewed_at`.execute(database);
}

/** Whether a start of a process still renews its reservations. */
export async function renewsHolds(database: Kysely<Database>, bootId: string): Promise<boolean> {
  const { rows } = await sql<{ renews: boolean }>`
    select exists (
      select from budget_processes where boot_id = ${bootId}::uuid and renewed_at > now() - make_interval(mins => ${holdMinutes})
    ) as renews`.execute(database);
  return rows[0]?.renews ?? false;
}

/**
 * Releases the reservations of a start of a process whose records are all stored, except reservations with a known
 * cost.
 */
export async function endHolds(database: Kysely<Database>, bootId: string): Promise<void> {
  await sql`
    with ended as (delete from budget_processes where boot_id = ${bootId}::uuid)
    delete from budget_reservations where boot_id = ${bootId}::uuid and not is_settled`.execute(database);
}

/** A reservation as operators see it. */
export interface HoldRow {
  readonly turnId: string;
  readonly attempt: number;
  readonly keyHash: string;
  readonly workspaceId: string | null;
  /** Amount in USD as a decimal. */
  readonly amountUsd: string;
  readonly reservedAt: Date;
  /**
   * `held` while the call runs, `settled` when it has finished, `provisional` when no process renews the reservation.
   * Settled and provisional amounts count as spent.
   */
  readonly state: "held" | "settled" | "provisional";
}

const holdColumns = sql`
  turn_id as "turnId", attempt, key_hash as "keyHash", workspace_id as "workspaceId", amount_usd::text as "amountUsd",
  reserved_at as "reservedAt",
  case when is_settled then 'settled' when ${isAbandoned} then 'provisional' else 'held' end as state`;

/** Lists reservations, oldest first. */
export async function listHolds(database: Kysely<Database>, limit: number): Promise<readonly HoldRow[]> {
  const { rows } = await sql<HoldRow>`
    select ${holdColumns} from budget_reservations order by reserved_at, turn_id, attempt limit ${limit}`.execute(
    database,
  );
  return rows;
}

/**
 * Releases a reservation that counts as spent and that no record has replaced; records it in the audit log. @returns
 * undefined when the call has none
 */
export function releaseCharge(
  database: Kysely<Database>,
  author: Omit<Author, "workspaceId">,
  { turnId, attempt }: Pick<HoldRow, "turnId" | "attempt">,
): Promise<HoldRow | undefined> {
  return runInTransaction(database, async (transaction) => {
    const { rows } = await sql<HoldRow>`
      delete from budget_reservations
      where turn_id = ${turnId}::uuid and attempt = ${attempt} and (is_settled or ${isAbandoned})
      returning ${holdColumns}`.execute(transaction);
    const [released] = rows;
    if (released === undefined) return undefined;
    const { keyHash, amountUsd, state, workspaceId } = released;
    await recordAudit(
      transaction,
      { ...author, workspaceId: workspaceId ?? defaultWorkspaceId },
      { action: "ledger.release", target: keyHash, before: { turn_id: turnId, attempt, amount_usd: amountUsd, state } },
    );
    return released;
  });
}

/** Removes processes that were lost long ago. Their reservations count as spent anyway. */
export async function forgetProcesses(database: Kysely<Database>): Promise<void> {
  await sql`delete from budget_processes where renewed_at < now() - interval '1 day'`.execute(database);
}
