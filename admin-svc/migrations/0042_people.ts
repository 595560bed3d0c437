/**
 * People in the console, each identified by another service. They act with a management key that nobody has, one for each workspace and one for
 * the account, so that every check of a key holds. Sessions until now are of management keys, which may do everything.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_keys
      add column console boolean not null default false check (not console or kind = 'management')`.execute(database);
  await sql`
    create unique index api_keys_console on api_keys (workspace_id, account)
    where console and revoked_at is null`.execute(database);
  await sql`
    alter table console_sessions
      add column role text not null default 'admin' check (role in ('viewer', 'operator', 'admin')),
      add column person text,
      add column rule text`.execute(database);
}
