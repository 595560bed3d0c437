/**
 * The database role of a running admin-svc. It can neither create nor drop tables, nor change history such as the audit
 * log.
 */
import { type Kysely, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";

/**
 * Name of the role. A role exists once in the whole database server, but its privileges are granted in each database.
 */
export const runtimeRole = "sluice_runtime";

/** Number of the advisory lock for granting privileges. It is arbitrary, but the same in all builds. */
const grantLock = 7_340_155_301n;

const grants: Readonly<Record<keyof Database | "kysely_migration", string>> = {
  // The role cannot update the columns `audit_trimmed_…`: only the command line, as the owner of the schema, records
  // how much of the audit log retention has removed.
  workspaces:
    "select, insert (name, limit_usd, limit_reset, model_limits, tag_budgets, permissions, required_tags), update (name, limit_usd, limit_reset, model_limits, tag_budgets, permissions, required_tags, tags_counted_from, deleted_at, audit_sequence, audit_hash)",
  audit_log: "select, insert",
  api_keys: "select, insert, update",
  guardrails: "select, insert, update, delete",
  guardrail_key_assignments: "select, insert, update, delete",
  end_users: "select, insert, update",
  external_ids: "select, insert, update",
  policy_generation: "select, update",
  policy_log: "select, insert",
  ledger: "select, insert, update (is_moved)",
  ledger_names: "select, insert",
  ledger_days: "select",
  ledger_progress: "select, update",
  usage_cube: "select, insert, delete",
  usage_cube_periods: "select, insert, update, delete",
  all_calls: "select",
  all_turns: "select",
  usage_records: "select, insert",
  turns: "select, insert, update",
  turn_deliveries: "select, insert, update",
  usage_sums: "select, insert, update",
  usage_changes: "select, insert, delete",
  activity_days: "select, insert, update, delete",
  activity_changes: "select, insert, delete",
  key_days: "select, insert, update",
  key_totals: "select, insert, update",
  backfills: "select",
  workspace_days: "select, insert, update",
  tag_days: "select, insert, update, delete",
  tag_accounts: "select, insert, delete",
  ledger_retention: "select",
  removed_records: "select",
  budget_reservations: "select, insert, update, delete",
  budget_processes: "select, insert, update, delete",
  console_sessions: "select, insert, update, delete",
  alerts: "select, insert, update, delete",
  alert_rules: "select, insert, update, delete",
  alert_rule_events: "select, insert, delete",
  views: "select, insert, update, delete",
  export_positions: "select, insert, update, delete",
  captured_contents: "select, insert, delete",
  stored_providers: "select, insert, update, delete",
  kysely_migration: "select",
};

/**
 * Creates the role if the user may, and grants the privileges that this build's schema needs.
 * @returns whether the user can take the role
 */
export function grantRuntime(database: Kysely<Database>): Promise<boolean> {
  return database.transaction().execute(async (transaction) => {
    // The lock prevents concurrent grants by several processes, of which one would fail.
    await sql`select pg_advisory_xact_lock(${grantLock})`.execute(transaction);
    await makeRole.execute(transaction);
    const { rows } = await sql<{ exists: boolean; owns: boolean }>`
      select exists (select from pg_roles where rolname = ${runtimeRole}) as exists,
        pg_has_role(relowner, 'usage') as owns
      from pg_class where oid = 'workspaces'::regclass`.execute(transaction);
    if (rows[0]?.exists !== true) return false;
    if (rows[0].owns) await grantAll(transaction);
    return canTakeOn(transaction);
  });
}

const role = sql.id(runtimeRole);

/** SQL that creates the role. A concurrent creation through another database of the server is ignored. */
const makeRole = sql`
  do $$
  begin
    if not exists (select from pg_roles where rolname = ${sql.lit(runtimeRole)}) then
      create role ${role} nologin;
    end if;
    if not pg_has_role(current_user, ${sql.lit(runtimeRole)}, 'usage') then
      grant ${role} to current_user;
    end if;
  exception
    when insufficient_privilege or duplicate_object or unique_violation then null;
  end $$`;

/**
 * Grants the role its privileges on tables created by a migration, because other processes already run in this role.
 */
export async function grantNewTables(transaction: Transaction<Database>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class, pg_roles
    where relnamespace = current_schema()::regnamespace and rolname = ${runtimeRole}
      and has_table_privilege(pg_roles.oid, 'workspaces'::regclass, 'select')
      and not has_table_privilege(pg_roles.oid, pg_class.oid, 'select')`.execute(transaction);
  const unknown = new Set(rows.map(({ name }) => name));
  for (const [table, granted] of Object.entries(grants).filter(([name]) => unknown.has(name))) {
    await grantTable(transaction, table, granted);
  }
}

async function grantTable(transaction: Transaction<Database>, table: string, granted: string): Promise<void> {
  await sql`grant ${sql.raw(granted)} on ${sql.table(table)} to ${role}`.execute(transaction);
}

async function grantAll(transaction: Transaction<Database>): Promise<void> {
  for (const [table, granted] of Object.entries(grants)) {
    await sql`revoke all on ${sql.table(table)} from ${role}`.execute(transaction);
    await grantTable(transaction, table, granted);
  }
  await sql`grant usage, select on sequence ledger_log to ${role}`.execute(transaction);
  await sql`grant execute on function trim_policy_log(), open_ledger_days() to ${role}`.execute(transaction);
  await sql`
    do $$
    begin
      if not has_schema_privilege(${sql.lit(runtimeRole)}, current_schema(), 'usage') then
        execute format('grant usage on schema %I to %I', current_schema(), ${sql.lit(runtimeRole)});
      end if;
    end $$`.execute(transaction);
}

/** Before PostgreSQL 16, every member of a role may take it. */
async function canTakeOn(transaction: Transaction<Database>): Promise<boolean> {
  const { rows } = await sql<{ can: boolean }>`
    select pg_has_role(current_user, ${runtimeRole},
      case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end) as can`.execute(
    transaction,
  );
  return rows[0]?.can === true;
}
