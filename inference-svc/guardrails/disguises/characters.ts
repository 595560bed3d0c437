/** Signs between the letters of a word that is spelled out. */

/** Separators between the letters of a spelled-out word. */
export const gapSigns = String.raw`\t\p{Zs}._*|\-+/~,;:\u00b7\u2022\u2010\u2013\u2014`;
/** Minimum of separated letters that count as a spelled-out word. */
export const minSpelled = 4;
/**
 * Maximum of separators between two letters. Several must always be the same, so that double spaces still divide
 * spelled-out words.
 */
export const maxGap = 3;
