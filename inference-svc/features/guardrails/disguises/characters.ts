/** Characters between the letters of a spelled-out word, such as `p a s s`. */

/** Separators between the letters of a spelled-out word, for a regular expression. */
export const letterSeparators = String.raw`\t\p{Zs}._*|\-+/~,;:\u00b7\u2022\u2010\u2013\u2014`;
/** Minimum number of separated letters in a spelled-out word. */
export const minSpelledLetters = 4;
/**
 * Maximum number of separators between two letters. Several in a row must be equal; a double space between single
 * spaces divides two spelled-out words.
 */
export const maxLetterGap = 3;
