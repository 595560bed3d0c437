/**
 * The text with its middle digit changed. Setting the last digit to a fixed one may change nothing, and the last digit of base64 may carry no bit.
 */
export function changeDigit(text: string): string {
  const at = Math.floor(text.length / 2);
  return text.slice(0, at) + (text.charAt(at) === "A" ? "B" : "A") + text.slice(at + 1);
}
