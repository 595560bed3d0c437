/**
 * People who sign in to the console through an identity service. They act with a management key whose secret nobody
 * knows, one for each workspace and one for the account, so all checks of keys apply. Earlier sessions belong to
 * management keys with full permissions.
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
