/**
 * A function that removes old policy generations with the rights of the schema's owner: the runtime role may add to the
 * log but not remove from it.
 */
import { type Kysely, sql } from "kysely";

/** The function is bound to this table, even when a session has another table with the same name in its search path. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create function trim_policy_log() returns void language sql security definer
    begin atomic
      delete from policy_log where created_at < now() - interval '1 day';
    end`.execute(database);
  await sql`revoke all on function trim_policy_log() from public`.execute(database);
}
