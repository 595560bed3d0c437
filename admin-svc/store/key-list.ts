/** Lists keys: searched by text, sorted by any column, in pages without overlaps. */
import type { KeyOrder, KeySort } from "@sluice/proto/contract/records/keys.js";
import { type Expression, type Kysely, type SqlBool, sql } from "kysely";
import type { OrderedBy } from "./cursor.ts";
import type { Database } from "./database.ts";
import type { KeyRow, ListedKey } from "./keys.ts";
import { backfilledSince } from "./ledger/progress.ts";
import { type List, type Page, type PagedRows, readPage } from "./page.ts";

/** Search text and sort order of a list; without an order, keys are sorted by their creation. */
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
  const direction = sql.raw(order.isReversed ? "desc" : "asc");
  return await database
    .selectFrom("api_keys as listed")
    .leftJoin("key_totals", "key_totals.key_hash", "hash")
    .leftJoin("guardrail_key_assignments", "guardrail_key_assignments.key_hash", "hash")
    .selectAll("listed")
    .select("guardrail_id")
    .where("listed.workspace_id", "=", workspaceId)
    .where(matching(search))
    .orderBy(sql`${order.by[0]} ${direction}`)
    .orderBy(sql`listed.hash ${direction}`)
    .execute();
}

export interface KeyFilter extends KeySearch {
  readonly workspaceId: string;
  readonly includeDisabled: boolean;
}

/** Lists a page of unrevoked inference keys. */
export async function pageOfKeys(
  database: Kysely<Database>,
  filter: KeyFilter,
  page: Page,
): Promise<PagedRows<KeyRow>> {
  const { workspaceId, includeDisabled, q, sort = "created" } = filter;
  const order = await orderOf(database, filter);
  const list: List = {
    scope: ["keys", workspaceId, includeDisabled, q ?? null, sort],
    listed: sql`
      select hash, name, created_at from api_keys
      where workspace_id = ${workspaceId} and kind = 'inference' and revoked_at is null and ${matching(filter)}
        and ${includeDisabled ? sql`true` : sql`not disabled`}`,
    ...(order.isOfTotals && {
      orderedWith: sql`
        join key_totals on key_totals.key_hash = listed.hash and key_totals.workspace_id = ${workspaceId}`,
    }),
    order: [order.by, [sql`listed.hash`, "text"]],
    isReversed: order.isReversed,
    rows: sql`join api_keys on api_keys.hash = page.hash`,
    columns: sql`api_keys.*`,
  };
  return await readPage<KeyRow>(database, list, page);
}

/**
 * Condition on keys containing the searched text. It uses `strpos` for the literal text: `like` would read `%` and
 * `_` as wildcards.
 */
function matching({ q }: KeySearch): Expression<SqlBool> {
  if (q === undefined) return sql<SqlBool>`true`;
  const text = q.toLowerCase();
  return sql<SqlBool>`(strpos(lower(name), ${text}) > 0 or strpos(lower(label), ${text}) > 0 or starts_with(hash, ${text}))`;
}

/** Sort value of a key that was never used: earlier than every use. */
const neverUsed = sql`timestamptz '0001-01-01 00:00:00Z'`;

const columns: Readonly<Record<KeyOrder, OrderedBy>> = {
  name: [sql`lower(listed.name)`, "text"],
  created: [sql`listed.created_at`, "time"],
  spent: [sql`key_totals.cost_usd`, "amount"],
  last_used: [sql`coalesce(key_totals.last_used_at, ${neverUsed})`, "time"],
};

/** Columns for a database whose key totals are still being computed after an upgrade. */
const columnsWithoutTotals: typeof columns = {
  ...columns,
  spent: [sql`(select coalesce(sum(cost_usd), 0) from key_days where key_days.key_hash = listed.hash)`, "amount"],
  last_used: [
    sql`coalesce(greatest(
      (select last_used_at from key_totals where key_totals.key_hash = listed.hash),
      (select max(opened_at) from usage_records where usage_records.key_hash = listed.hash)
    ), ${neverUsed})`,
    "time",
  ],
};

interface Order {
  readonly by: OrderedBy;
  readonly isReversed: boolean;
  /** Whether the sort order uses a column of `key_totals`. */
  readonly isOfTotals: boolean;
}

async function orderOf(database: Kysely<Database>, { sort = "created" }: KeySearch): Promise<Order> {
  const isReversed = sort.startsWith("-");
  const name = (isReversed ? sort.slice(1) : sort) as KeyOrder;
  const isOfTotals =
    name !== "name" && name !== "created" && (await backfilledSince(database, "key_totals")) === undefined;
  return { by: (isOfTotals ? columns : columnsWithoutTotals)[name], isReversed, isOfTotals };
}
