/** Sums of budgets for tags beside the records of calls: their check. */
import { eachValue } from "@sluice/proto/contract/records/tag-budgets.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";
import { keptDays } from "./tag-accounts.ts";

/**
 * Rows of `workspace_id`, `name`, `value`, `day` and `cost_usd`: paid calls by the tags of their records. The ledger has the tags of a call at its turn.
 * @param of a condition on `turn`, which is a record of a turn in the ledger or of a single call
 */
const taggedCalls = (of: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select workspace_id, name, value, (opened_at at time zone 'UTC')::date as day, cost_usd
  from (
    select turn.workspace_id, turn.opened_at, turn.cost_usd, turn.tags from usage_records as turn
    where turn.payer = 'key' and turn.cost_usd <> 0 and turn.tags is not null and ${of}
    union all
    select call.workspace_id, call.opened_at, call.cost_usd, turn.tags
    from all_turns as turn join all_calls as call using (generation_id, key_hash, written)
    where call.payer = 'key' and call.cost_usd <> 0 and turn.tags is not null and ${of}
  ) as paid cross join lateral jsonb_each_text(tags) as tag (name, value)`;

/** An edit of the entries may not be known for this time to a batch that is being stored, or to a process whose clock differs. */
const editMargin = sql`interval '1 hour'`;

/** A sum of a tag that differs from the records. */
export interface WrongTagSum {
  /** Id of the workspace, and the tag or its name. */
  readonly owner: string;
  /** A day in UTC such as 2026-11-21. */
  readonly day: string;
  /** USD as decimals. */
  readonly summedUsd: string;
  readonly recordedUsd: string;
}

/**
 * Sums by tag and day that differ from the records. The sum of a value is at most the cost of its calls, as the shared account may have paid for some. All sums of
 * a tag are at most the cost of its calls, and exactly that of the calls with an entry on days that began after the last change of the values in the entries.
 */
export async function wrongTagSums(database: Kysely<Database>): Promise<readonly WrongTagSum[]> {
  const counted = sql`turn.workspace_id in (select workspace_id from tag_days union select id from workspaces where tag_budgets is not null)`;
  const { rows } = await sql<WrongTagSum>`
    with recorded as materialized (
      select workspace_id, name, value, day, sum(cost_usd) as cost_usd from (${taggedCalls(counted)}) as paid group by 1, 2, 3, 4
    ),
    summed as materialized (select workspace_id, name, value, day, cost_usd - unrecorded_usd as cost_usd from tag_days),
    totals as (select workspace_id, name, day, sum(cost_usd) as cost_usd from summed group by 1, 2, 3),
    of_all as (select workspace_id, name, day, sum(cost_usd) as cost_usd from recorded group by 1, 2, 3),
    of_entries as (
      select recorded.workspace_id, recorded.name, day, sum(cost_usd) as cost_usd
      from recorded join workspaces on workspaces.id = recorded.workspace_id
      where day > ((tags_counted_from + ${editMargin}) at time zone 'UTC')::date and day > (now() at time zone 'UTC')::date - ${sql.lit(keptDays)}
        and exists (
          select from jsonb_to_recordset(tag_budgets) as entry (tag text, value text)
          where entry.tag = recorded.name and entry.value in (${eachValue}, recorded.value)
        )
      group by 1, 2, 3
    ),
    wrong as (
      select workspace_id, name || '=' || value as tag, day, summed.cost_usd as summed, coalesce(recorded.cost_usd, 0) as recorded
      from summed left join recorded using (workspace_id, name, value, day)
      where value <> ${eachValue} and summed.cost_usd > coalesce(recorded.cost_usd, 0)
      union all
      select workspace_id, name, day, totals.cost_usd, coalesce(of_all.cost_usd, 0)
      from totals left join of_all using (workspace_id, name, day) where totals.cost_usd > coalesce(of_all.cost_usd, 0)
      union all
      select workspace_id, name, day, coalesce(totals.cost_usd, 0), of_entries.cost_usd
      from of_entries left join totals using (workspace_id, name, day) where coalesce(totals.cost_usd, 0) < of_entries.cost_usd
    )
    select workspace_id || ' ' || tag as owner, to_char(day, 'YYYY-MM-DD') as day, summed as "summedUsd", recorded as "recordedUsd"
    from wrong where day >= (select kept_from from ledger_retention) order by 2, 1`.execute(database);
  return rows;
}
