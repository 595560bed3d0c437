/** Reads a page of a list, by an offset or by a cursor. */
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import {
  type CursorScope,
  type OrderColumns,
  type Place,
  comesAfter,
  placeOf,
  readCursor,
  writeCursor,
} from "./cursor.ts";
import type { Database } from "./database.ts";

export interface Page {
  /** Number of rows to skip. */
  readonly offset: number;
  /** Maximum number of rows on the page. */
  readonly limit: number;
  /** `nextCursor` of the preceding page; undefined for the first page, or with an offset. */
  readonly cursor?: string | undefined;
}

/** The rows of a page, and the number of rows on all pages together. */
export interface PagedRows<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
  /** Cursor of the next page; undefined after the last page. */
  readonly nextCursor: string | undefined;
}

export interface List {
  readonly scope: CursorScope;
  /** SQL that selects the rows of all pages, with the columns by which they are sorted. */
  readonly listed: RawBuilder<unknown>;
  /** SQL that joins `listed` with another table needed for sorting. */
  readonly orderedWith?: RawBuilder<unknown>;
  readonly order: OrderColumns;
  readonly isReversed?: boolean;
  /**
   * SQL that joins `page`, which has the columns of `listed`, with the full rows. Full rows are thus read only for the
   * page, not for the rows before it.
   */
  readonly rows: RawBuilder<unknown>;
  /** SQL for the columns of the result. */
  readonly columns: RawBuilder<unknown>;
}

/**
 * Total number of rows below which a list is first found and then sorted. With more rows, the index of the sort order
 * is read from the position of the page; for a search with few results that would read nearly the whole index in vain.
 */
const fewRows = 5_000;

type PlacedRow<Row> = Row & { readonly place: string[]; readonly number: string };

/**
 * Reads a page and the total number of rows at the same moment. @throws Fault INVALID_REQUEST for a cursor of another
 * list
 */
export async function readPage<Row>(database: Kysely<Database>, list: List, page: Page): Promise<PagedRows<Row>> {
  const { scope, listed, order } = list;
  const after = page.cursor === undefined ? undefined : readCursor(scope, order, page.cursor);
  return await readTogether(database, async (snapshot) => {
    const counted = await sql<{ total: number }>`
      select count(*)::integer as total from (${listed}) as listed`.execute(snapshot);
    const total = counted.rows[0]?.total ?? 0;
    if (page.offset >= total) return { rows: [], total, nextCursor: undefined };
    const { rows } = await pageQuery<Row>(list, page, { after, isSmall: total < fewRows }).execute(snapshot);
    const last = rows.length > page.limit ? rows[page.limit - 1] : undefined;
    return {
      rows: rows.slice(0, page.limit).map(({ place: _place, number: _number, ...row }) => row as Row),
      total,
      nextCursor: last && writeCursor(scope, last.place),
    };
  });
}

interface PageQuery {
  readonly after: Place | undefined;
  readonly isSmall: boolean;
}

/** Query for a page; it returns one row more if there is another page. */
function pageQuery<Row>(
  { listed, orderedWith = sql``, order, isReversed = false, rows, columns }: List,
  { offset, limit }: Page,
  { after, isSmall }: PageQuery,
): RawBuilder<PlacedRow<Row>> {
  const by = sql.join(order.map(([column]) => sql`${column} ${sql.raw(isReversed ? "desc" : "asc")}`));
  return sql`
    with listed as ${sql.raw(isSmall ? "materialized" : "not materialized")} (${listed})
    select ${columns}, place, number
    from (
      select *, row_number() over () as number from (
        select listed.*, ${placeOf(order)} as place from listed ${orderedWith}
        where ${after === undefined ? sql`true` : comesAfter(order, after, isReversed)}
        order by ${by} limit ${limit + 1} offset ${offset}
      ) as ordered
    ) as page ${rows}
    order by number`;
}

/** Runs several reads on the same snapshot of the database. */
function readTogether<Result>(
  database: Kysely<Database>,
  read: (snapshot: Transaction<Database>) => Promise<Result>,
): Promise<Result> {
  return database.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(read);
}
