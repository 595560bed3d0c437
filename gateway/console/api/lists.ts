/** Lists loaded completely. */

interface ListPage<Row> {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
}

const maxPages = 20;

/** Reads a list page by page, up to 2,000 records: nobody reads a longer list. */
export async function everyPage<Row>(
  load: (query: { cursor: string | undefined; limit: number }) => Promise<ListPage<Row>>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const { data, next_cursor: next } = await load({ cursor, limit: 100 });
    rows.push(...data);
    if (next === null) break;
    cursor = next;
  }
  return rows;
}
