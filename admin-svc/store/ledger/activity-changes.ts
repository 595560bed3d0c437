/** Changes of the daily sums from which activity is reported. */
import { type RawBuilder, sql } from "kysely";

/**
 * SQL for rows of `activity_changes`.
 * @param calls a table or expression with the columns of `usage_records`
 * @param endsTurn condition: whether the turn of a call is counted in the row of this call
 */
export const callActivity = (calls: RawBuilder<unknown>, endsTurn: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select workspace_id, key_hash, (opened_at at time zone 'UTC')::date as day, model, provider, coalesce(nullif(service_tier, ''), 'default') as service_tier,
    operation, door, coalesce(task, '') as task, sum(cost_usd) as cost_usd, count(*) as calls,
    count(*) filter (where ${endsTurn}) as requests,
    coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(output_tokens), 0) as output_tokens, coalesce(sum(reasoning_tokens), 0) as reasoning_tokens
  from ${calls} as records where payer = 'key'
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9`;
