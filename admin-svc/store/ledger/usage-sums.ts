/** Sums calls to providers over a period. */
import { type PayerWord, answeringOperations } from "@sluice/proto/lib/ledger/call-operation.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";

export const usageUnits = ["day", "model", "key", "operation", "door", "task"] as const;
export type UsageUnit = (typeof usageUnits)[number];

export interface UsageFilter {
  readonly workspaceId: string;
  /** First and last UTC day, both included, such as 2026-11-21. */
  readonly from: string;
  readonly to: string;
  readonly keyHash?: string | undefined;
  /** Payer whose calls are summed. */
  readonly payer: PayerWord;
}

export interface UsageSums {
  /**
   * Day of the sum; null unless sums are by day. The same applies to `model`, `key`, `operation`, `door` and `task`.
   */
  readonly day: string | null;
  readonly model: string | null;
  readonly key: string | null;
  readonly operation: string | null;
  readonly door: string | null;
  readonly task: string | null;
  readonly key_name: string | null;
  /** Cost in USD as a decimal. */
  readonly cost_usd: string;
  /** Number of turns; each turn counts in the row of the call that answered it. */
  readonly requests: string;
  readonly attempts: string;
  readonly input_tokens: string;
  readonly output_tokens: string;
}

/**
 * SQL condition: whether a call answers a request instead of only supporting an answer. @param table name of a table of
 * calls
 */
export const answersRequest = (table: string): RawBuilder<boolean> => sql<boolean>`
  ${sql.ref(`${table}.operation`)} in (${sql.join(answeringOperations.map((operation) => sql.lit(operation)))})`;

/**
 * SQL condition that is true for the last call of each turn, so a turn with calls to several models or on two days
 * counts once.
 */
export const countsRequest: RawBuilder<boolean> = sql<boolean>`
  (${answersRequest("all_calls")} and row_number() over (partition by turn_id, ${answersRequest("all_calls")} order by attempt desc) = 1)`;

/** Reads the sums, sorted by the fields by which they are divided. */
export async function usageSums(
  database: Kysely<Database>,
  { workspaceId, from, to, keyHash, payer }: UsageFilter,
  by: readonly UsageUnit[],
): Promise<readonly UsageSums[]> {
  const unit = (name: UsageUnit, value: RawBuilder<unknown>) => (by.includes(name) ? value : sql`null::text`);
  const { rows } = await sql<UsageSums>`
    with calls as (
      select *, to_char(opened_at at time zone 'UTC', 'YYYY-MM-DD') as day, ${countsRequest} as counts
      from all_calls
      where workspace_id = ${workspaceId} and payer = ${payer}
        and opened_at >= ${from}::date::timestamp at time zone 'UTC'
        and opened_at < (${to}::date + 1)::timestamp at time zone 'UTC'
        and near >= (${from}::date - 1)::timestamp at time zone 'UTC' and near < (${to}::date + 2)::timestamp at time zone 'UTC'
        and (${keyHash ?? null}::text is null or key_hash = ${keyHash ?? null})
    ),
    sums as (
      select
        ${unit("day", sql`day`)} as day, ${unit("model", sql`model`)} as model, ${unit("key", sql`key_hash`)} as key,
        ${unit("operation", sql`operation`)} as operation, ${unit("door", sql`door`)} as door, ${unit("task", sql`task`)} as task,
        coalesce(sum(cost_usd), 0) as cost_usd, count(*) filter (where counts) as requests, count(*) as attempts,
        coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(output_tokens), 0) as output_tokens
      from calls
      group by 1, 2, 3, 4, 5, 6
    )
    select sums.*, api_keys.name as key_name
    from sums left join api_keys on api_keys.hash = sums.key
    order by sums.day, sums.model, sums.key, sums.operation, sums.door, sums.task`.execute(database);
  return rows;
}
