/** Lists of keys: searched, in any order, and in pages without overlaps. */
import type { KeyOrder, KeySort } from "@sluice/proto/contract/records/keys.js";
import { type Expression, type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Database } from "./database.ts";
import type { KeyRow, ListedKey } from "./keys.ts";
import { backfilledSince } from "./ledger/progress.ts";
import { type Page, type PagedRows, readTogether } from "./page.ts";

/** Search text and order of a list; the order of creation when none is given. */
export interface KeySearch {
  readonly q?: string | undefined;
  readonly sort?: KeySort | undefined;
}

/** Lists all keys of a workspace, including revoked keys and management keys. */
export async function listKeys(
  database: Kysely<Database>,
  workspaceId: string,
  search: KeySearch = {},
): Promise<ListedKey[]> {
  const order = await orderOf(database, search);
  return await database
    .selectFrom("api_keys")
    .leftJoin("key_totals", "key_totals.key_hash", "hash")
    .leftJoin("guardrail_key_assignments", "guardrail_key_assignments.key_hash", "hash")
    .selectAll("api_keys")
    .select("guardrail_id")
    .where("api_keys.workspace_id", "=", workspaceId)
    .where(matching(search))
    .orderBy(order.by)
    .orderBy("hash")
    .execute();
}

export interface KeyFilter extends KeySearch {
  readonly workspaceId: string;
  readonly includeDisabled: boolean;
}

/** Unrevoked inference keys. */
export function pageOfKeys(database: Kysely<Database>, filter: KeyFilter, page: Page): Promise<PagedRows<KeyRow>> {
  const { workspaceId } = filter;
  return readTogether(database, async (snapshot) => {
    const keys = snapshot
      .selectFrom("api_keys")
      .where("api_keys.workspace_id", "=", workspaceId)
      .where("kind", "=", "inference")
      .where("revoked_at", "is", null)
      .where(matching(filter))
      .$if(!filter.includeDisabled, (enabled) => enabled.where("disabled", "=", false));
    const { total } = await keys
      .select((select) => select.cast<number>(select.fn.countAll(), "integer").as("total"))
      .executeTakeFirstOrThrow();
    const order = await orderOf(snapshot, filter);
    const rows = await keys
      .$if(order.isOfTotals, (totalled) =>
        totalled
          .innerJoin("key_totals", "key_totals.key_hash", "hash")
          .where("key_totals.workspace_id", "=", workspaceId),
      )
      .selectAll("api_keys")
      .orderBy(order.by)
      .orderBy("hash")
      .offset(page.offset)
      .limit(page.limit)
      .execute();
    return { rows, total };
  });
}

/** `strpos` searches for the literal text, while `like` would read its `%` and `_` as wildcards. */
function matching({ q }: KeySearch): Expression<SqlBool> {
  if (q === undefined) return sql<SqlBool>`true`;
  const text = q.toLowerCase();
  return sql<SqlBool>`(strpos(lower(name), ${text}) > 0 or strpos(lower(label), ${text}) > 0 or starts_with(hash, ${text}))`;
}

const columns: Readonly<Record<KeyOrder, RawBuilder<unknown>>> = {
  name: sql`lower(name)`,
  created: sql`api_keys.created_at`,
  spent: sql`key_totals.cost_usd`,
  last_used: sql`key_totals.last_used_at`,
};

/** For a database whose totals are being filled after an upgrade. */
const columnsWithoutTotals: typeof columns = {
  ...columns,
  spent: sql`(select coalesce(sum(cost_usd), 0) from key_days where key_days.key_hash = hash)`,
  last_used: sql`greatest(
    (select last_used_at from key_totals where key_totals.key_hash = hash),
    (select max(opened_at) from usage_records where usage_records.key_hash = hash)
  )`,
};

interface Order {
  readonly by: RawBuilder<unknown>;
  /** Whether the order uses a column of `key_totals`. */
  readonly isOfTotals: boolean;
}

/** A never used key counts as used before every other. */
async function orderOf(database: Kysely<Database>, { sort = "created" }: KeySearch): Promise<Order> {
  const isReversed = sort.startsWith("-");
  const name = (isReversed ? sort.slice(1) : sort) as KeyOrder;
  const isOfTotals =
    name !== "name" && name !== "created" && (await backfilledSince(database, "key_totals")) === undefined;
  const column = (isOfTotals ? columns : columnsWithoutTotals)[name];
  return { by: isReversed ? sql`${column} desc nulls last` : sql`${column} asc nulls first`, isOfTotals };
}
