/** Spending by kind of task and model. Inference processes rank models with it. */
import { type Kysely, sql } from "kysely";
import type { Database } from "../database.ts";

export interface TaskSpendingRow {
  readonly task: string;
  readonly model: string;
  /** Cost in USD as a decimal. */
  readonly cost_usd: string;
}

/** Sums over the last 7 days and all workspaces. */
export const sumTaskSpending = (database: Kysely<Database>): Promise<TaskSpendingRow[]> =>
  database
    .selectFrom("all_calls")
    .select(["task", "model", ({ fn }) => fn.sum("cost_usd").as("cost_usd")])
    .where("task", "is not", null)
    .where("cost_usd", "is not", null)
    .where("opened_at", ">=", sql<Date>`now() - interval '7 days'`)
    .where("near", ">=", sql<Date>`now() - interval '8 days'`)
    .groupBy(["task", "model"])
    .$castTo<TaskSpendingRow>()
    .execute();
