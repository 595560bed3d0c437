/** Built-in filters, routing policy, scope, direction and mode of guardrails. */
import { type Kysely, sql } from "kysely";

/** Each column has a default, so an earlier build can continue to write guardrails during a rolling upgrade. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table guardrails
      add column content_filter_builtins jsonb not null default '[]' check (jsonb_typeof(content_filter_builtins) = 'array'),
      add column routing_policy jsonb not null default '{}' check (jsonb_typeof(routing_policy) = 'object'),
      add column applies_to text not null default 'input' check (applies_to in ('input', 'output', 'both')),
      add column mode text not null default 'enforce' check (mode in ('enforce', 'audit')),
      add column on_error text not null default 'closed' check (on_error in ('closed', 'open')),
      add column workspace_default boolean not null default false`.execute(database);
  await sql`
    create index guardrails_workspace_default on guardrails (workspace_id) where workspace_default`.execute(database);
}
