/** Builds equal keys for scrambled spellings: people and models read `ingroe` and `1gn0re` as the same word. */

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
const lookalikeDigits = /[013457@$]/g;

/** Minimum length of a word that can be scrambled: shorter words have at most one inner letter. */
const minScrambled = 4;

/** The key of a word: in lower case, with look-alike digits replaced by letters, and with its inner letters sorted. */
export function buildWordKey(word: string): string {
  const lower = word.toLowerCase();
  const plain =
    /[^a-z]/.test(lower) && /[a-z]/.test(lower)
      ? lower.replace(lookalikeDigits, (unit) => digitLetters[unit] ?? unit)
      : lower;
  if (plain.length < minScrambled) return plain;
  const middle = plain.slice(1, -1).split("").sort().join("");
  return plain.charAt(0) + middle + plain.charAt(plain.length - 1);
}
