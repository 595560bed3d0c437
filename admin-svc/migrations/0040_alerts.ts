/**
 * The outbox of alerts. A row is written in the transaction of the reported event, and `event` names it, so each sink
 * is notified once. Rows about budgets stay until the budget period is over.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table alerts (
      sink text not null,
      event text collate "C" not null,
      id text collate "C" not null unique default 'msg_' || replace(gen_random_uuid()::text, '-', ''),
      workspace_id uuid not null,
      type text not null,
      facts jsonb not null,
      at timestamptz not null,
      state text not null default 'waiting' check (state in ('waiting', 'delivered', 'dead')),
      attempts integer not null default 0,
      due_at timestamptz not null,
      give_up_at timestamptz not null,
      settled_at timestamptz,
      last_error text,
      primary key (sink, event)
    )`.execute(database);
  await sql`create index alerts_open on alerts (sink, state, due_at) where state <> 'delivered'`.execute(database);
}
