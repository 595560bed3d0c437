/** Formats the records of HTTP answers as text. */
import { escapeUnprintable, table } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";

/** The title of a table column, and the record field that it shows. */
export type Column = readonly [title: string, field: string];

/** A table of the records. */
export const recordTable = (records: readonly JsonObject[], columns: readonly Column[]): string[] =>
  table(
    columns.map(([title]) => title),
    records.map((record) => columns.map(([, field]) => cellOf(record[field]))),
  );

/** Lists the fields of a record that have a value, one a line. */
export function recordLines(record: JsonObject): string[] {
  const entries = Object.entries(record).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${escapeUnprintable(cellOf(value))}`);
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined || value === "") return "-";
  // Times are cut to the second, as in tables of the database commands.
  if (typeof value === "string") return value.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z$/, "$1Z");
  return JSON.stringify(value);
}
