/** The beginning of a text, up to the end of a paragraph. */
import { tokensOfBytes } from "../estimate/tokens.ts";

/** Of what is kept, what is given up to end with a whole paragraph, line or word. */
const mostGivenUp = 0.2;

/** @param tokens estimated, at least 1 */
export function withinTokens(text: string, tokens: number): string {
  if (tokensOfBytes(Buffer.byteLength(text), "") <= tokens) return text;
  const least = lengthOf(text, tokens);
  for (const border of ["\n\n", "\n", " "]) {
    const at = text.lastIndexOf(border, least);
    if (at >= least * (1 - mostGivenUp)) return text.slice(0, at).trimEnd();
  }
  return text.slice(0, least);
}

/** UTF-16 units that have no more than so many tokens; whole characters. */
function lengthOf(text: string, tokens: number): number {
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (tokensOfBytes(Buffer.byteLength(text.slice(0, middle)), "") <= tokens) low = middle;
    else high = middle - 1;
  }
  return (text.codePointAt(low - 1) ?? 0) > 0xffff ? low - 1 : low;
}
