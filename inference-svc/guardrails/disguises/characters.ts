/** Characters that are shown as others, or not at all. */

/** Lines and frames that are drawn over a letter, and leave it readable. */
const overlays = String.raw`\u0334-\u0338\u20d2\u20d3\u20d8-\u20da\u20dd-\u20e0\u20e2-\u20e6\u20ea\u20eb`;
/** Zero-width characters and tags, among others: a word stays readable to a model between them. */
const unseen = String.raw`\p{Default_Ignorable_Code_Point}${overlays}`;

export const unseenCharacter = new RegExp(`^[${unseen}]$`, "u");
const allUnseen = new RegExp(`[${unseen}]`, "gu");

/** In the form that full width, ligatures, styles and the like stand for, without characters that nobody sees. */
export const withoutForm = (text: string): string => text.normalize("NFKC").replace(allUnseen, "");

/** Signs that stand between letters of a word that is spelled. */
export const gapSigns = String.raw` \t._*|\-+/~,;:\u00b7\u2022\u2010\u2013\u2014`;
/** Letters that stand apart from which on they are one word. */
export const minSpelled = 4;
/** Longest gap between them, in signs; gaps of several signs are all the same, so that double spaces still part words that are spelled. */
export const maxGap = 3;
