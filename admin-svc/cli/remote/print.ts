/** Prints records of HTTP answers. */
import { escapeUnprintable, table } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";

/** A column and its field. */
export type Column = readonly [title: string, field: string];

/** A table of the records. */
export const recordTable = (records: readonly JsonObject[], columns: readonly Column[]): string[] =>
  table(
    columns.map(([title]) => title),
    records.map((record) => columns.map(([, field]) => cellOf(record[field]))),
  );

/** A line for each field with a value. */
export function recordLines(record: JsonObject): string[] {
  const entries = Object.entries(record).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${escapeUnprintable(cellOf(value))}`);
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined || value === "") return "-";
  // Times to the second, like in the other tables.
  if (typeof value === "string") return value.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z$/, "$1Z");
  return JSON.stringify(value);
}
