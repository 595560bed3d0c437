/** Old generations are forgotten by a function of the owner: who runs the service may add to the log and take nothing from it. */
import { type Kysely, sql } from "kysely";

/** Its statement is bound to the table here, whatever a caller's session calls by that name. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create function trim_policy_log() returns void language sql security definer
    begin atomic
      delete from policy_log where created_at < now() - interval '1 day';
    end`.execute(database);
  await sql`revoke all on function trim_policy_log() from public`.execute(database);
}
