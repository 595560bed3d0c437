/** Numbers of turn records that a process has left out so far, so that they are stored when they come: a restored database lacks those of after its backup. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table turn_deliveries add column missing int8multirange not null default '{}'`.execute(database);
}
