/**
 * What a key may still spend. A call is let through while its worst case fits beside what was spent and what is held for other calls; what
 * is held is let go in the transaction that writes the call's record.
 */
import { decimal, pico } from "@sluice/proto/runtime/money.js";
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "./database.ts";
import { transact } from "./transaction.ts";

/** After that a call of a process that is gone, and never came back to say so, holds nothing any more. */
const holdMinutes = 10;

export interface Reservation {
  readonly turnId: string;
  readonly attempt: number;
  /** USD, decimal: the worst case. */
  readonly amountUsd: string;
}

export interface Reserved {
  readonly admitted: boolean;
  /** USD, decimal; absent when the key has no budget. */
  readonly limitUsd?: string;
  /** Of the limit, before this reservation. */
  readonly remainingUsd?: string;
}

/** The first day of the period that counts now, in UTC; weeks begin on Monday. */
export const periodStart: RawBuilder<Date> = sql<Date>`
  (case limit_reset
    when 'daily' then date_trunc('day', now() at time zone 'UTC')
    when 'weekly' then date_trunc('week', now() at time zone 'UTC')
    when 'monthly' then date_trunc('month', now() at time zone 'UTC')
    else '-infinity'::timestamp
  end)::date`;

interface Account {
  readonly limit_usd: string | null;
  /** Below 0 when calls have cost more than was held for them. */
  readonly remaining_usd: string | null;
}

/** Decides about calls of one key in their order, in one transaction however many they are. */
export function reserveBudget(
  database: Kysely<Database>,
  keyHash: string,
  wanted: readonly Reservation[],
): Promise<readonly Reserved[]> {
  return transact(database, async (transaction) => {
    // One after the other for each key. A statement of its own: the next one must see what the last holder wrote.
    await sql`select pg_advisory_xact_lock(hashtextextended(${keyHash}, 0))`.execute(transaction);
    const { limit_usd: limitUsd, remaining_usd: left } = await accountOf(transaction, keyHash);
    if (limitUsd === null || left === null) return wanted.map(() => ({ admitted: true }));
    let remaining = left.startsWith("-") ? 0n : pico(left);
    const decided = wanted.map((reservation): Reserved => {
      const remainingUsd = decimal(remaining);
      const amount = pico(reservation.amountUsd);
      const admitted = remaining > 0n && remaining >= amount;
      if (admitted) remaining -= amount;
      return { admitted, limitUsd, remainingUsd };
    });
    await hold(
      transaction,
      keyHash,
      wanted.filter((_, index) => decided[index]?.admitted),
    );
    return decided;
  });
}

/** Spent and held in one statement: between two, a record could move an amount from one to the other. */
async function accountOf(transaction: Transaction<Database>, keyHash: string): Promise<Account> {
  const { rows } = await sql<Account>`
    select limit_usd, limit_usd
      - (select coalesce(sum(cost_usd), 0) from key_days where key_hash = hash and day >= ${periodStart})
      - (select coalesce(sum(amount_usd), 0) from budget_reservations where key_hash = hash and expires_at > now())
      as remaining_usd
    from api_keys where hash = ${keyHash}`.execute(transaction);
  return rows[0] ?? { limit_usd: null, remaining_usd: null };
}

async function hold(transaction: Transaction<Database>, keyHash: string, held: readonly Reservation[]): Promise<void> {
  if (held.length === 0) return;
  const turns = held.map(({ turnId }) => turnId);
  const attempts = held.map(({ attempt }) => attempt);
  const amounts = held.map(({ amountUsd }) => amountUsd);
  await sql`
    insert into budget_reservations (turn_id, attempt, key_hash, amount_usd, expires_at)
    select turn_id, attempt, ${keyHash}, amount_usd, now() + make_interval(mins => ${holdMinutes})
    from unnest(${turns}::uuid[], ${attempts}::smallint[], ${amounts}::numeric[]) as held (turn_id, attempt, amount_usd)
    on conflict (turn_id, attempt) do nothing`.execute(transaction);
}

/** What is held for calls that never came to an end. */
export async function dropExpiredReservations(database: Kysely<Database>): Promise<void> {
  await database.deleteFrom("budget_reservations").where("expires_at", "<", sql<Date>`now()`).execute();
}

/** USD, decimal. */
export interface Spending {
  readonly total: string;
  readonly daily: string;
  readonly weekly: string;
  readonly monthly: string;
  /** Of the budget, never below 0; absent when there is none. */
  readonly remaining?: string;
}

interface SpendingRow {
  readonly hash: string;
  readonly total: string;
  readonly daily: string;
  readonly weekly: string;
  readonly monthly: string;
  readonly remaining: string | null;
}

/** What keys have spent, by their hash. */
export async function spendingOf(
  database: Kysely<Database>,
  keyHashes: readonly string[],
): Promise<ReadonlyMap<string, Spending>> {
  const { rows } = await sql<SpendingRow>`
    select
      hash,
      coalesce(sum(cost_usd), 0) as total,
      coalesce(sum(cost_usd) filter (where day >= date_trunc('day', now() at time zone 'UTC')::date), 0) as daily,
      coalesce(sum(cost_usd) filter (where day >= date_trunc('week', now() at time zone 'UTC')::date), 0) as weekly,
      coalesce(sum(cost_usd) filter (where day >= date_trunc('month', now() at time zone 'UTC')::date), 0) as monthly,
      greatest(0, limit_usd - coalesce(sum(cost_usd) filter (where day >= ${periodStart}), 0)) as remaining
    from api_keys left join key_days on key_hash = hash
    where hash = any(${keyHashes}::text[])
    group by hash`.execute(database);
  return new Map(
    rows.map(({ hash, remaining, ...sums }) => [hash, { ...sums, ...(remaining !== null && { remaining }) }]),
  );
}
