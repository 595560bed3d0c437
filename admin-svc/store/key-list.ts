/** Lists of keys: searched, in any order, and with a page that never overlaps another. */
import type { KeyOrder, KeySort } from "@sluice/proto/contract/records/keys.js";
import { type Expression, type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Database } from "./database.ts";
import type { KeyRow, ListedKey } from "./keys.ts";
import { type Page, type Paged, readTogether } from "./page.ts";

/** Search text and order of a list; the order of creation when none is given. */
export interface KeySearch {
  readonly q?: string | undefined;
  readonly sort?: KeySort | undefined;
}

/** Lists all keys of a workspace, also revoked ones and management keys. */
export function listKeys(
  database: Kysely<Database>,
  workspaceId: string,
  search: KeySearch = {},
): Promise<ListedKey[]> {
  return database
    .selectFrom("api_keys")
    .leftJoin("guardrail_key_assignments", "key_hash", "hash")
    .selectAll("api_keys")
    .select("guardrail_id")
    .where("workspace_id", "=", workspaceId)
    .where(matching(search))
    .orderBy(orderOf(search))
    .orderBy("hash")
    .execute();
}

export interface KeyFilter extends KeySearch {
  readonly workspaceId: string;
  readonly includeDisabled: boolean;
}

/** Inference keys that are not revoked. */
export function pageOfKeys(database: Kysely<Database>, filter: KeyFilter, page: Page): Promise<Paged<KeyRow>> {
  return readTogether(database, async (snapshot) => {
    const keys = snapshot
      .selectFrom("api_keys")
      .where("workspace_id", "=", filter.workspaceId)
      .where("kind", "=", "inference")
      .where("revoked_at", "is", null)
      .where(matching(filter))
      .$if(!filter.includeDisabled, (enabled) => enabled.where("disabled", "=", false));
    const { total } = await keys
      .select((select) => select.cast<number>(select.fn.countAll(), "integer").as("total"))
      .executeTakeFirstOrThrow();
    const rows = await keys
      .selectAll()
      .orderBy(orderOf(filter))
      .orderBy("hash")
      .offset(page.offset)
      .limit(page.limit)
      .execute();
    return { rows, total };
  });
}

/** `strpos` finds the text as it is, where `like` would read its `%` and `_` as wildcards. */
function matching({ q }: KeySearch): Expression<SqlBool> {
  if (q === undefined) return sql<SqlBool>`true`;
  const text = q.toLowerCase();
  return sql<SqlBool>`(strpos(lower(name), ${text}) > 0 or strpos(lower(label), ${text}) > 0 or starts_with(hash, ${text}))`;
}

const columns: Readonly<Record<KeyOrder, RawBuilder<unknown>>> = {
  name: sql`lower(name)`,
  created: sql`api_keys.created_at`,
  spent: sql`(select coalesce(sum(cost_usd), 0) from key_days where key_days.key_hash = hash)`,
  last_used: sql`(select max(opened_at) from usage_records where usage_records.key_hash = hash)`,
};

/** A key that was never used counts as used before every other. */
function orderOf({ sort = "created" }: KeySearch): RawBuilder<unknown> {
  const isReversed = sort.startsWith("-");
  const column = columns[(isReversed ? sort.slice(1) : sort) as KeyOrder];
  return isReversed ? sql`${column} desc nulls last` : sql`${column} asc nulls first`;
}
