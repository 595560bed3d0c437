/** Claims of due rows: work that any process may take, and one at a time does. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "./database.ts";

export interface RowClaim {
  readonly table: keyof Database;
  /** Columns of the primary key, or others that name one row. */
  readonly key: readonly string[];
  /** Select of the key of the rows to take, with its limit, `for update skip locked`. */
  readonly due: RawBuilder<unknown>;
  /** Assignments that keep other processes from the rows. */
  readonly set: RawBuilder<unknown>;
}

/**
 * Runs the select once. As a sub-select of the update, Postgres may run it for each row of a small table, each time past the rows updated so far: it then
 * takes every due row instead of the limit.
 */
export async function claimRows<Row>(
  database: Kysely<Database>,
  { table, key, due, set }: RowClaim,
): Promise<readonly Row[]> {
  const isSame = key.map((column) => sql`claimed.${sql.id(column)} = due.${sql.id(column)}`);
  const { rows } = await sql<Row>`
    with due as materialized (${due})
    update ${sql.table(table)} as claimed set ${set} from due where ${sql.join(isSame, sql` and `)}
    returning claimed.*`.execute(database);
  return rows;
}
