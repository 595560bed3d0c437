/** Sums of calls to providers. */
import { type PayerWord, answeringOperations } from "@sluice/proto/lib/ledger/call-operation.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";

export const usageUnits = ["day", "model", "key", "operation", "door", "task"] as const;
export type UsageUnit = (typeof usageUnits)[number];

export interface UsageFilter {
  readonly workspaceId: string;
  /** First day in UTC, such as 2026-11-21; `from` and `to` are both included. */
  readonly from: string;
  readonly to: string;
  readonly keyHash?: string | undefined;
  /** Sums the calls paid by this payer. */
  readonly payer: PayerWord;
}

export interface UsageSums {
  /** Null unless the sums are by day; the same for the other units. */
  readonly day: string | null;
  readonly model: string | null;
  readonly key: string | null;
  readonly operation: string | null;
  readonly door: string | null;
  readonly task: string | null;
  readonly key_name: string | null;
  /** USD as a decimal. */
  readonly cost_usd: string;
  /** Number of turns; each turn counts in the row of its answer. */
  readonly requests: string;
  readonly attempts: string;
  readonly input_tokens: string;
  readonly output_tokens: string;
}

/** Whether a call answers a request instead of only supporting an answer. @param table the name of a table of calls */
export const answersRequest = (table: string): RawBuilder<boolean> => sql<boolean>`
  ${sql.ref(`${table}.operation`)} in (${sql.join(answeringOperations.map((operation) => sql.lit(operation)))})`;

/** True in one record of each turn: its last call. A turn with calls to several models or on two days therefore counts once. */
export const countsRequest: RawBuilder<boolean> = sql<boolean>`
  (${answersRequest("all_calls")} and row_number() over (partition by turn_id, ${answersRequest("all_calls")} order by attempt desc) = 1)`;

/** Rows in the order of their units. */
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
