/** Cursors of lists: an opaque text with the position after which the next page begins, in one format for all lists. */
import { uuidForm } from "@sluice/proto/lib/ids/uuid.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { type RawBuilder, sql } from "kysely";
import { createHash } from "node:crypto";

/** A kind of sort value: how it is written into a cursor, which texts are accepted back, and how it is read in SQL. */
interface ValueKind {
  readonly form: RegExp;
  readonly write: (value: RawBuilder<unknown>) => RawBuilder<string>;
  readonly read: (text: string) => RawBuilder<unknown>;
}

const castOf = (type: string, form: RegExp): ValueKind => ({
  form,
  write: (value) => sql`(${value})::text`,
  read: (text) => sql`${text}::${sql.raw(type)}`,
});

/** Patterns limit the number of digits, so every accepted text is a valid value in the database. */
const kinds = {
  text: castOf("text", /^[^\0]*$/),
  uuid: castOf("uuid", uuidForm),
  integer: castOf("bigint", /^\d{1,18}$/),
  amount: castOf("numeric", /^-?\d{1,60}(?:\.\d{1,60})?$/),
  /** Times are microseconds since 1970: seconds as a double would be rounded. */
  time: {
    form: /^-?\d{1,17}$/,
    write: (value) => sql`(extract(epoch from ${value}) * 1000000)::bigint::text`,
    read: (text) => sql`(timestamptz 'epoch' + ${text}::bigint * interval '1 microsecond')`,
  },
} satisfies Readonly<Record<string, ValueKind>>;

export type PlaceKind = keyof typeof kinds;

/** Position in a list: the sort values of a row as texts. No two rows have the same position. */
export type Place = readonly string[];

/** An SQL expression by which a list is sorted, and the kind of its values. */
export type OrderedBy = readonly [by: RawBuilder<unknown>, kind: PlaceKind];

export type OrderColumns = readonly OrderedBy[];

/** SQL for the position of a row, as an array of texts. */
export const placeOf = (columns: OrderColumns): RawBuilder<string[]> =>
  sql`array[${sql.join(columns.map(([by, kind]) => kinds[kind].write(by)))}]`;

/**
 * SQL condition on rows after a position. The first column is compared twice, because an index on one table cannot
 * compare columns of two tables.
 */
export function comesAfter(columns: OrderColumns, place: Place, isReversed: boolean): RawBuilder<boolean> {
  const values = columns.map(([, kind], index) => kinds[kind].read(place[index] as string));
  const row = columns.map(([by]) => by);
  const is = sql.raw(isReversed ? "<" : ">");
  return sql`${row[0]} ${is}= ${values[0]} and (${sql.join(row)}) ${is} (${sql.join(values)})`;
}

/** Identifies the list that a cursor belongs to: its name, workspace, order and filters. */
export type CursorScope = readonly unknown[];

/** A short hash of the list's identity. It only detects mistakes of clients and is no protection. */
const markOf = (scope: CursorScope): string =>
  createHash("sha256").update(JSON.stringify(scope)).digest("base64url").slice(0, 8);

export const writeCursor = (scope: CursorScope, place: Place): string =>
  Buffer.from(JSON.stringify([markOf(scope), ...place])).toString("base64url");

/** Decodes a cursor. @throws Fault INVALID_REQUEST for a malformed cursor, or one of another list */
export function readCursor(
  scope: CursorScope,
  columns: readonly (readonly [by: unknown, kind: PlaceKind])[],
  cursor: string,
): Place {
  const [mark, ...place] = textsIn(cursor);
  const isPlace =
    place.length === columns.length && columns.every(([, kind], index) => kinds[kind].form.test(place[index] ?? ""));
  if (mark === undefined || place.length === 0) throw invalid("cursor", "must be the next_cursor of a page");
  if (mark !== markOf(scope) || !isPlace) throw invalid("cursor", "belongs to another list, order or filter");
  return place;
}

function textsIn(cursor: string): readonly string[] {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(values) && values.every((value) => typeof value === "string") ? values : [];
  } catch {
    return [];
  }
}
