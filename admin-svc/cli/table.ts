/** Columns for people. */

/** Control and other invisible characters as escapes: a name must not write to the terminal. */
export const printable = (text: string): string =>
  text.replace(/[\p{Control}\p{Format}\p{Surrogate}\p{Line_Separator}\p{Paragraph_Separator}]/gu, (character) => {
    const codePoint = character.codePointAt(0) ?? 0;
    return `\\u{${codePoint.toString(16)}}`;
  });

/** Lines of aligned columns under their titles. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lines = [titles, ...rows.map((row) => row.map(printable))];
  const widths = titles.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** A time to the second, or a dash. */
export const time = (date: Date | null): string => (date === null ? "-" : date.toISOString().replace(/\.\d+Z$/, "Z"));
