/** Guardrails: what a key that holds one may not say. */
import type { Kysely, Selectable } from "kysely";
import type { Database, GuardrailsTable, StoredFilter } from "./database.ts";

export type GuardrailRow = Selectable<GuardrailsTable>;

export interface NewGuardrail {
  readonly workspaceId: string;
  readonly name: string;
  readonly contentFilters: readonly StoredFilter[];
}

/** No key holds a new guardrail, so the policy stays as it is. */
export function createGuardrail(database: Kysely<Database>, guardrail: NewGuardrail): Promise<GuardrailRow> {
  return database
    .insertInto("guardrails")
    .values({
      workspace_id: guardrail.workspaceId,
      name: guardrail.name,
      content_filters: JSON.stringify(guardrail.contentFilters),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export type ListedGuardrail = GuardrailRow & { readonly keys: number };

/** With the number of keys that hold each. */
export function listGuardrails(database: Kysely<Database>, workspaceId: string): Promise<ListedGuardrail[]> {
  return database
    .selectFrom("guardrails")
    .leftJoin("guardrail_key_assignments", "guardrail_id", "id")
    .selectAll("guardrails")
    .select((select) => select.cast<number>(select.fn.count("key_hash"), "integer").as("keys"))
    .where("workspace_id", "=", workspaceId)
    .groupBy("id")
    .orderBy("guardrails.created_at")
    .orderBy("id")
    .execute();
}

export function findGuardrail(
  database: Kysely<Database>,
  workspaceId: string,
  id: string,
): Promise<GuardrailRow | undefined> {
  return database
    .selectFrom("guardrails")
    .selectAll()
    .where("id", "=", id)
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirst();
}

export async function keysOfGuardrail(database: Kysely<Database>, id: string): Promise<string[]> {
  const rows = await database
    .selectFrom("guardrail_key_assignments")
    .select("key_hash")
    .where("guardrail_id", "=", id)
    .orderBy("key_hash")
    .execute();
  return rows.map((row) => row.key_hash);
}
