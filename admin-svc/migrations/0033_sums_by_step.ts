/**
 * Stores sums by day in a separate table. There are many times as many sums by hour, and with both in one table, a
 * report of a month by day read pages on which one row in twenty was relevant.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_sums rename to usage_sums_before`.execute(database);
  await sql`alter index usage_sums_pkey rename to usage_sums_before_pkey`.execute(database);
  await sql`
    create table usage_sums (like usage_sums_before, primary key (workspace_id, dimension, step, at, value))
    partition by list (step)`.execute(database);
  // Free room on each page allows updates on the same page, without changes of the indexes.
  for (const step of ["hour", "day"]) {
    await sql`
      create table ${sql.table(`usage_sums_${step}`)} partition of usage_sums for values in (${sql.lit(step)})
      with (fillfactor = 80)`.execute(database);
  }
  await sql`
    insert into usage_sums
    select * from usage_sums_before order by step, at, workspace_id, dimension, value`.execute(database);
  await sql`drop table usage_sums_before`.execute(database);
}
