/**
 * Removes a deleted workspace with all of its data, including records and audit log. Requires the owner of the schema.
 */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "./database.ts";
import { lockUsageChanges } from "./ledger/fold.ts";
import { numberOf } from "./ledger/names.ts";
import { runInTransaction } from "./postgres/transaction.ts";

/**
 * Tables with data of workspaces, each before the tables that it refers to. Tables filled by triggers of the records
 * come after the records.
 */
const tables = [
  "turns",
  "usage_records",
  "usage_changes",
  "activity_changes",
  "usage_sums",
  "activity_days",
  "workspace_days",
  "tag_days",
  "tag_accounts",
  "budget_reservations",
  "alerts",
  "alert_rule_events",
  "alert_rules",
  "views",
  "captured_contents",
  "console_sessions",
  "external_ids",
  "end_users",
  "guardrails",
  "key_totals",
  "api_keys",
  "audit_log",
] as const;

/**
 * Removes the workspace in one transaction, during which batches of records wait. @throws Error unless the workspace is
 * deleted
 */
export function removeWorkspace(database: Kysely<Database>, workspaceId: string): Promise<void> {
  return runInTransaction(database, async (transaction) => {
    await lockUsageChanges(transaction);
    const owned = sql`workspace_id = ${workspaceId}`;
    const statements: RawBuilder<unknown>[] = [
      // Records the sequence numbers of the removed calls, which would otherwise count as missing.
      sql`
        insert into removed_records (boot_id, records)
        select boot_id, count(*) from all_calls where ${owned} group by boot_id
        on conflict (boot_id) do update set records = removed_records.records + excluded.records`,
      sql`delete from ledger where workspace = ${numberOf(workspaceId)}`,
      sql`delete from usage_cube where workspace = ${numberOf(workspaceId)}`,
      sql`delete from key_days where key_hash in (select hash from api_keys where ${owned})`,
      ...tables.map((table) => sql`delete from ${sql.table(table)} where ${owned}`),
    ];
    for (const statement of statements) await statement.execute(transaction);
    const { numAffectedRows } = await sql`
      delete from workspaces where id = ${workspaceId} and deleted_at is not null`.execute(transaction);
    if (numAffectedRows !== 1n) throw new Error("only a deleted workspace can be removed");
  });
}
