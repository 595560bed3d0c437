/** Truncates a text to a number of tokens, preferably at the end of a paragraph. */
import { estimateTokens } from "../../models/estimate/tokens.ts";

/** Maximum share of the text given up so it ends with a paragraph, line or word. */
const maxTrimShare = 0.2;

/** @param tokens maximum number of estimated tokens, at least 1 */
export function truncateToTokens(text: string, tokens: number): string {
  if (estimateTokens(Buffer.byteLength(text), "") <= tokens) return text;
  const maxLength = lengthOf(text, tokens);
  for (const border of ["\n\n", "\n", " "]) {
    const at = text.lastIndexOf(border, maxLength);
    if (at >= maxLength * (1 - maxTrimShare)) return text.slice(0, at).trimEnd();
  }
  return text.slice(0, maxLength);
}

/** Length of the longest beginning of whole characters that has at most this many tokens. */
function lengthOf(text: string, tokens: number): number {
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (estimateTokens(Buffer.byteLength(text.slice(0, middle)), "") <= tokens) low = middle;
    else high = middle - 1;
  }
  return (text.codePointAt(low - 1) ?? 0) > 0xffff ? low - 1 : low;
}
