/** Reads the spending of keys and workspaces from daily sums. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { ResetInterval } from "@sluice/proto/contract/records/record-shapes.js";
import type { Database } from "../database.ts";

/** SQL for the first UTC day of the current budget period; weeks begin on Monday. Reads the column `limit_reset`. */
export const periodStart: RawBuilder<Date> = sql<Date>`
  (case limit_reset
    when 'daily' then date_trunc('day', now() at time zone 'UTC')
    when 'weekly' then date_trunc('week', now() at time zone 'UTC')
    when 'monthly' then date_trunc('month', now() at time zone 'UTC')
    else '-infinity'::timestamp
  end)::date`;

/** Amounts in USD as decimals. */
export interface Spending {
  readonly total: string;
  readonly daily: string;
  readonly weekly: string;
  readonly monthly: string;
  /** Remaining budget, never below 0; absent without a budget. */
  readonly remaining?: string;
  /** Start of the latest recorded call to a provider; null for a key that was never used. */
  readonly last_used_at: Date | null;
}

interface SpendingRow {
  readonly hash: string;
  readonly total: string;
  readonly daily: string;
  readonly weekly: string;
  readonly monthly: string;
  readonly remaining: string | null;
  readonly last_used_at: Date | null;
}

/** Reads the spending of keys, by their hashes. */
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
      end as remaining,
      greatest(
        (select last_used_at from key_totals where key_totals.key_hash = hash),
        (select max(opened_at) from usage_records where usage_records.key_hash = hash)
      ) as last_used_at
    from api_keys left join key_days on key_hash = hash
    where hash = any(${keyHashes}::text[])
    group by hash`.execute(database);
  return new Map(
    rows.map(({ hash, remaining, ...sums }) => [hash, { ...sums, ...(remaining !== null && { remaining }) }]),
  );
}

/** The budget of a workspace, with its spending. */
export interface WorkspaceAccount {
  readonly id: string;
  /** Limit in USD as a decimal; null for no budget. */
  readonly limit_usd: string | null;
  readonly limit_reset: ResetInterval | null;
  /** Spending in the current budget period, in USD as a decimal; all spending if the budget never resets. */
  readonly spent_usd: string;
}

/** Reads the budgets of workspaces, in any order. */
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
