/**
 * The text with another digit in its middle, which is never the text itself: a fixed last digit may be the one that the text has, and the last
 * digit of base64 may hold no bit.
 */
export function altered(text: string): string {
  const at = Math.floor(text.length / 2);
  return text.slice(0, at) + (text.charAt(at) === "A" ? "B" : "A") + text.slice(at + 1);
}
