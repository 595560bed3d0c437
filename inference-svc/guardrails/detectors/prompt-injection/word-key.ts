/** What a word is compared by: readers, and models, take `ingroe` and `1gn0re` for the same word. */

const digitLetters: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "@": "a",
  $: "s",
};
const disguised = /[013457@$]/g;

/** Shorter words have no order to mix up. */
const shortestMixed = 4;

/** The word in lower case, digits read as the letters they look like, what lies between its ends sorted. */
export function keyOf(word: string): string {
  const lower = word.toLowerCase();
  const plain =
    /[^a-z]/.test(lower) && /[a-z]/.test(lower)
      ? lower.replace(disguised, (unit) => digitLetters[unit] ?? unit)
      : lower;
  if (plain.length < shortestMixed) return plain;
  const middle = plain.slice(1, -1).split("").sort().join("");
  return plain.charAt(0) + middle + plain.charAt(plain.length - 1);
}
