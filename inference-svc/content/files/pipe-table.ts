/** Formats tables in Markdown. */

/** @param rows cells as plain text; the first row is the head */
export const toPipeTable = (rows: readonly (readonly string[])[]): string =>
  joinPipeRows(
    rows.map(toPipeRow),
    rows.reduce((most, { length }) => Math.max(most, length), 1),
  );

export const toPipeRow = (cells: readonly string[]): string => `| ${cells.map(toCell).join(" | ")} |`;

/** Joins rows already formatted as Markdown. @param columns number of cells in the longest row */
export const joinPipeRows = ([head = "", ...rest]: readonly string[], columns: number): string =>
  [head, `|${" --- |".repeat(columns)}`, ...rest].join("\n");

const toCell = (text: string): string => text.replaceAll(/\s*\n\s*/g, " ").replaceAll("|", "\\|");
