/** Formats tables of the command line, aligned by the width of characters and cut to the width of the terminal. */
import stringWidth from "string-width";

const gap = "  ";
const ellipsis = "…";
/** Minimum width of a cut cell in characters. */
const minColumns = 8;
/** Minimum width of a cut id: its first 13 characters usually suffice to name the record. */
const idColumns = 13;
const id = /^(?:[0-9a-f]{24,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
/** Values that must not be cut, such as numbers, amounts, times and dashes: a part would read as another value. */
const whole = /^[\d.,:%/ +TZ-]*(?:ms|USD)?$/;

/**
 * Formats lines of aligned columns under their titles. Ids are cut first, then the widest texts; numbers are never cut,
 * and rows that still do not fit stay too wide.
 * @param width of the terminal in characters; infinite for a file or a pipe
 */
export function fitTable(titles: readonly string[], rows: readonly (readonly string[])[], width: number): string[] {
  const lines = [titles, ...rows];
  const widths = titles.map((_, column) => Math.max(...lines.map((line) => stringWidth(line[column] ?? ""))));
  const room = width - gap.length * (titles.length - 1);
  const cells = (column: number): string[] => rows.map((row) => row[column] ?? "").filter((cell) => cell !== "-");
  const leasts = titles.map((title, column) => {
    if (cells(column).every((cell) => whole.test(cell))) return widths[column] ?? 0;
    return Math.max(minColumns, stringWidth(title));
  });
  const isOfIds = (column: number): boolean => cells(column).length > 0 && cells(column).every((cell) => id.test(cell));
  for (const column of titles.keys()) {
    if (sumOf(widths) > room && isOfIds(column))
      widths[column] = Math.max(idColumns, stringWidth(titles[column] ?? ""));
  }
  shrink(widths, leasts, room);
  return lines.map((line) =>
    line
      .map((cell, column) => padded(cut(cell, widths[column] ?? 0), widths[column] ?? 0))
      .join(gap)
      .trimEnd(),
  );
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

/** Makes the widest columns narrower until the row fits, or until none can be narrower. */
function shrink(widths: number[], leasts: readonly number[], room: number): void {
  for (let excess = sumOf(widths) - room; excess > 0; excess--) {
    let widest = -1;
    for (const [column, columns] of widths.entries()) {
      if (columns > (leasts[column] ?? 0) && columns > (widths[widest] ?? 0)) widest = column;
    }
    if (widest < 0) return;
    widths[widest]! -= 1;
  }
}

/** Cuts a text to a width and adds an ellipsis. A character of width two is never halved. */
function cut(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  let kept = "";
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += stringWidth(segment);
    if (used > columns - 1) break;
    kept += segment;
  }
  return kept + ellipsis;
}

const padded = (text: string, columns: number): string => text + " ".repeat(Math.max(0, columns - stringWidth(text)));
