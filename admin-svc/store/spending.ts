/** What has been spent, by the sums of days. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database, LimitReset } from "./database.ts";

/** The first day of the period that counts now, in UTC; weeks begin on Monday. Reads the column `limit_reset`. */
export const periodStart: RawBuilder<Date> = sql<Date>`
  (case limit_reset
    when 'daily' then date_trunc('day', now() at time zone 'UTC')
    when 'weekly' then date_trunc('week', now() at time zone 'UTC')
    when 'monthly' then date_trunc('month', now() at time zone 'UTC')
    else '-infinity'::timestamp
  end)::date`;

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
      case when limit_usd is not null then
        greatest(0, limit_usd - coalesce(sum(cost_usd) filter (where day >= ${periodStart}), 0))
      end as remaining
    from api_keys left join key_days on key_hash = hash
    where hash = any(${keyHashes}::text[])
    group by hash`.execute(database);
  return new Map(
    rows.map(({ hash, remaining, ...sums }) => [hash, { ...sums, ...(remaining !== null && { remaining }) }]),
  );
}

/** The budget of a workspace. */
export interface WorkspaceAccount {
  readonly id: string;
  /** USD, decimal; null: any amount. */
  readonly limit_usd: string | null;
  readonly limit_reset: LimitReset | null;
  /** USD, decimal, of the period that counts now; of all time when the budget never begins anew. */
  readonly spent_usd: string;
}

/** Of these workspaces, in any order. */
export async function workspaceAccounts(
  database: Kysely<Database>,
  ids: readonly string[],
): Promise<readonly WorkspaceAccount[]> {
  const { rows } = await sql<WorkspaceAccount>`
    select id, limit_usd, limit_reset,
      (select coalesce(sum(cost_usd), 0) from workspace_days where workspace_id = id and day >= ${periodStart}) as spent_usd
    from workspaces where id = any(${ids}::uuid[])`.execute(database);
  return rows;
}
