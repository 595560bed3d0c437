/** Keys, guardrails, assignments, end users and workspaces in large numbers, written by SQL. */
import type { Database } from "@sluice/admin-svc/store/database.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { type Kysely, sql } from "kysely";

/**
 * Fills the default workspace with as many keys, assignments and end users, and a tenth as many guardrails and other workspaces. One key in ten is
 * disabled, and one in five was never used. Many keys share a time, a name and an amount, since equal values could make pages of a list overlap.
 */
export async function fillLists(database: Kysely<Database>, count: number): Promise<void> {
  const workspace = sql`${defaultWorkspaceId}::uuid`;
  const rows = sql`generate_series(1, ${sql.lit(count)}) as n`;
  const few = sql`generate_series(1, ${sql.lit(count / 10)}) as n`;
  const hash = sql`md5(n::text) || md5('k' || n)`;
  const at = sql`now() - interval '1 day' + n / 3 * interval '1 microsecond'`;
  await sql`
    insert into api_keys (hash, workspace_id, name, kind, label, disabled, created_at)
    select ${hash}, ${workspace}, 'Key-' || n * 7919 % ${sql.lit(count)} / 2, 'inference', 'sk-sl-' || n, n % 10 = 0, ${at} from ${rows}`.execute(
    database,
  );
  await sql`
    insert into key_totals as known
    select ${hash}, ${workspace}, n * 7907 % 5000 / 100.0, case when n % 5 > 0 then ${at} end from ${rows}
    on conflict (key_hash) do update set cost_usd = excluded.cost_usd, last_used_at = excluded.last_used_at`.execute(
    database,
  );
  await sql`
    insert into guardrails (id, workspace_id, name, content_filters, created_at)
    select md5(n::text)::uuid, ${workspace}, 'guardrail-' || n, '[]', ${at} from ${few}`.execute(database);
  await sql`
    insert into guardrail_key_assignments (key_hash, guardrail_id, created_at)
    select ${hash}, md5((1 + n % ${sql.lit(count / 10)})::text)::uuid, ${at} from ${rows}`.execute(database);
  await sql`
    insert into end_users (workspace_id, "user", is_active)
    select ${workspace}, 'user ' || md5(n::text), n % 10 > 0 from ${rows}`.execute(database);
  await sql`insert into workspaces (name, created_at) select 'workspace-' || n, ${at} from ${few}`.execute(database);
  await sql`vacuum analyze`.execute(database);
}
