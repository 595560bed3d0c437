/** Query plans of the statements that some work sends to Postgres. */
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import type { CompiledQuery } from "kysely";
import pg from "pg";

export interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly "Rows Removed by Filter"?: number;
  /** Number of 8 KiB pages, including those of the nodes below. */
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly PlanNode[];
}

export const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** The statements that some work sends to Postgres. */
export async function statementsOf(
  url: string,
  work: (database: ReturnType<typeof openDatabase>) => Promise<unknown>,
): Promise<CompiledQuery[]> {
  const statements: CompiledQuery[] = [];
  const database = openDatabase(url, writeConnectionLimits, () => {}, {
    onStatement: ({ query }) => statements.push(query),
  });
  try {
    await work(database);
  } finally {
    await database.destroy();
  }
  return statements.filter(({ sql }) => /^\s*(?:-- .*\n\s*)?(?:with|select|insert|update|delete)\b/.test(sql));
}

/** The plan of a statement, which is executed and then rolled back. */
export async function planOf(client: pg.Client, { sql, parameters }: CompiledQuery): Promise<PlanNode> {
  await client.query("begin; set local jit = off");
  try {
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${sql}`, [...parameters]);
    return rows[0]["QUERY PLAN"][0].Plan;
  } finally {
    await client.query("rollback");
  }
}
