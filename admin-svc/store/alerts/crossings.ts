/** Writes an alert when spending reaches a share of a budget, in the transaction that charges the budget. */
import { type RawBuilder, type Transaction, sql } from "kysely";
import { keyBudgets } from "../accounts.ts";
import type { Database } from "../database.ts";
import { lastAttemptAt } from "./outbox.ts";
import { periodStart } from "../ledger/spending.ts";

export interface BudgetSink {
  readonly name: string;
  /** Name or id of the only workspace whose budgets are watched; undefined for all workspaces. */
  readonly workspace?: string | undefined;
  /** Shares of a budget, in percent, at which an alert is written. */
  readonly percents: readonly number[];
}

const budget: RawBuilder<unknown> = sql`
  spent as (
    select scope, budgets.id, listed.hash as key_hash, listed.name as key_name, listed.workspace_id,
      budgets.limit_usd, budgets.limit_reset, period, coalesce(
        (select sum(cost_usd) from key_days where key_days.key_hash = listed.hash and day >= period), 0
      ) as spent_usd
    from budgets join listed using (hash)
      cross join lateral (select ${periodStart} as period from (select budgets.limit_reset) as own) as periods
    where budgets.limit_usd > 0
    union all
    select 'workspace', id::text, null, null, id, limit_usd, limit_reset, period, coalesce(
        (select sum(cost_usd) from workspace_days where workspace_id = id and day >= period), 0
      )
    from workspaces cross join lateral (select ${periodStart} as period) as periods
    where limit_usd > 0 and id in (select workspace_id from listed)
  )`;

/**
 * Writes an alert for every share reached. Its event name includes the limit, because a changed limit counts as a new
 * budget whose shares are announced again. The primary key prevents repeated alerts, even while another transaction is
 * writing them.
 * @param keyHashes charged keys
 */
export async function recordBudgetCrossings(
  transaction: Transaction<Database>,
  sinks: readonly BudgetSink[],
  keyHashes: readonly string[],
  at: Date,
): Promise<void> {
  await sql`
    with sinks as (
      select * from jsonb_to_recordset(${JSON.stringify(sinks)}::jsonb) as sink (name text, workspace text, percents integer[])
    ),
    listed as (
      select hash, name, workspace_id, limit_usd, limit_reset, further_guardrails from api_keys where hash = any(${keyHashes}::text[])
    ),
    ${keyBudgets},
    ${budget}
    insert into alerts (sink, event, workspace_id, type, facts, at, due_at, give_up_at)
    select sinks.name, concat_ws(':', 'budget', scope, spent.id, key_hash, period, spent.limit_usd, percent), workspace_id,
      'budget.reached',
      jsonb_build_object(
        'budget', scope, 'percent', percent, 'limit_usd', trim_scale(spent.limit_usd)::text,
        'spent_usd', trim_scale(spent_usd)::text, 'limit_reset', spent.limit_reset,
        'period_start', nullif(period, '-infinity'), 'key_hash', key_hash, 'key_name', key_name,
        'guardrail_id', case when scope = 'guardrail' then spent.id end, 'workspace_id', workspace_id, 'workspace', workspaces.name
      ), ${at}, ${at}, ${lastAttemptAt(at)}
    from spent join workspaces on workspaces.id = workspace_id
      join sinks on sinks.workspace is null or sinks.workspace in (workspaces.name, workspaces.id::text)
      cross join unnest(percents) as percent
    where spent_usd * 100 >= spent.limit_usd * percent
    order by 1, 2
    on conflict do nothing`.execute(transaction);
}
