/** Lists loaded completely. */

interface ListPage<Row> {
  readonly data: readonly Row[];
  readonly total_count: number;
}

const maxPages = 20;

/** Reads a list page by page, up to 2,000 records: a longer list of names would be of no use. */
export async function everyPage<Row>(
  load: (query: { offset: number; limit: number }) => Promise<ListPage<Row>>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let page = 0; page < maxPages; page++) {
    const { data, total_count: total } = await load({ offset: rows.length, limit: 100 });
    rows.push(...data);
    if (data.length === 0 || rows.length >= total) break;
  }
  return rows;
}
