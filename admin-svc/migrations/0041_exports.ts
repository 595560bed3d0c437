/**
 * Exports of turns. A complete turn gets a number from `ledger_log`. Before an export fixes the bounds of a batch, it
 * waits for transactions still storing turns, so every smaller number is visible. Turns from before this
 * migration have no number.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`create sequence ledger_log`.execute(database);
  await sql`alter table turns add column log_sequence bigint`.execute(database);
  await sql`
    create index turns_log on turns (workspace_id, log_sequence) where log_sequence is not null`.execute(database);
  await sql`create index turns_unlogged on turns (opened_at) where log_sequence is null`.execute(database);
  await sql`
    create table export_cursors (
      export text not null,
      workspace_id uuid not null,
      started_at timestamptz not null,
      started bigint not null,
      delivered bigint not null,
      batch_last bigint,
      batch_at timestamptz,
      attempts integer not null default 0,
      due_at timestamptz not null,
      last_error text,
      primary key (export, workspace_id)
    )`.execute(database);
}
