/** Searches turns by parts of their texts, and by the beginning of an id. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";

/** SQL conditions of one search. */
export interface TurnSearch {
  readonly inTurns: RawBuilder<unknown>;
  readonly inLedger: RawBuilder<unknown>;
}

/** Whether a text may be a whole id, which is found by an index. */
export const isLikeId = (text: string): boolean => /^[\w-]{12,}$/.test(text);

/**
 * Finds the keys and names containing the text, ignoring case; rows of the ledger refer to them by number.
 * @param text at most 200 characters
 */
export async function readSearch(database: Kysely<Database>, workspaceId: string, text: string): Promise<TurnSearch> {
  const has = (column: string) => sql`strpos(lower(${sql.ref(column)}), lower(${text})) > 0`;
  const { rows } = await sql<{ keys: string[] | null; key_numbers: number[] | null; names: number[] | null }>`
    with named as materialized (select hash from api_keys where workspace_id = ${workspaceId} and ${has("name")})
    select (select array_agg(hash) from named) as keys,
      (select array_agg(id) from ledger_names join named on named.hash = ledger_names.name) as key_numbers,
      (select array_agg(id) from ledger_names where name !~ '^[0-9a-f]{64}$' and ${has("name")}) as names`.execute(
    database,
  );
  const [found] = rows;
  const names = sql`any(${found?.names ?? []}::integer[])`;
  const either = (conditions: readonly RawBuilder<unknown>[]) => sql`(${sql.join(conditions, sql` or `)})`;
  const own = ["requested_model", "session_id", "user"].map(has);
  const ids = ["generation_id", "request_id", "trace_id"].map(
    (column) => sql`starts_with(${sql.ref(column)}, ${text})`,
  );
  return {
    inTurns: either([
      sql`key_hash = any(${found?.keys ?? []}::text[])`,
      ...["model", "provider", "error_type", "provider_error"].map(has),
      ...own,
      ...ids,
    ]),
    inLedger: either([
      sql`key = any(${found?.key_numbers ?? []}::integer[])`,
      ...["model", "provider", "error_type", "provider_error"].map((column) => sql`${sql.ref(column)} = ${names}`),
      ...own,
      ...ids,
    ]),
  };
}
