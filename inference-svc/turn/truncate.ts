/** Shortens texts without cutting a character in half, since servers refuse such texts. */

/** Share of the kept text that stands before the gap; the rest stands after it. */
const headShare = 0.6;
/** Share of each side that is given up to cut at a line break. */
const lineShare = 0.2;

/** The beginning of a text. @param kept maximum UTF-16 units */
export const truncate = (text: string, kept: number): string =>
  text.slice(0, kept < text.length && isWithinPair(text, kept) ? kept - 1 : kept);

/** A text without its middle. @param kept UTF-16 units kept, without the note about the omitted part */
export function truncateMiddle(text: string, kept: number): string {
  if (kept >= text.length) return text;
  const head = headOf(text, Math.floor(kept * headShare));
  const tail = tailOf(text, Math.ceil(kept * (1 - headShare)));
  const omitted = text.length - head.length - tail.length;
  return `${head}\n[${omitted} characters omitted]\n${tail}`;
}

function headOf(text: string, length: number): string {
  const line = text.lastIndexOf("\n", length);
  return truncate(text, line > length * (1 - lineShare) ? line : length);
}

function tailOf(text: string, length: number): string {
  const earliest = text.length - length;
  const line = text.indexOf("\n", earliest);
  const start = line !== -1 && line < earliest + length * lineShare ? line + 1 : earliest;
  return text.slice(isWithinPair(text, start) ? start + 1 : start);
}

/** Whether the two UTF-16 units around an index belong to one character. */
const isWithinPair = (text: string, at: number): boolean => (text.codePointAt(at - 1) ?? 0) > 0xffff;
