/**
 * Letters of other scripts that look like Latin ones in most typefaces. Chosen by eye among Cyrillic, Greek, Armenian and Latin letters of
 * phonetics, all of one UTF-16 unit; a letter that merely resembles one (a Greek nu) is left out, because every one costs false alarms.
 */
const pairs: readonly (readonly [latin: string, others: string])[] = [
  ["a", "аɑα"],
  ["b", "ЬƄ"],
  ["c", "сϲᴄ"],
  ["d", "ԁ"],
  ["e", "еҽ"],
  ["g", "ɡց"],
  ["h", "һհ"],
  ["i", "іıɩι"],
  ["j", "јϳ"],
  ["k", "κк"],
  ["l", "ӏǀ"],
  ["m", "м"],
  ["n", "ո"],
  ["o", "оοօ"],
  ["p", "рρ"],
  ["q", "ԛզ"],
  ["r", "гᴦ"],
  ["s", "ѕꜱ"],
  ["t", "т"],
  ["u", "υս"],
  ["v", "νѵᴠ"],
  ["w", "ԝᴡ"],
  ["x", "хχ"],
  ["y", "уүγ"],
  ["z", "ᴢ"],
  ["A", "АΑ"],
  ["B", "ВΒ"],
  ["C", "СϹ"],
  ["E", "ЕΕ"],
  ["H", "НΗ"],
  ["I", "ІΙӀ"],
  ["J", "Ј"],
  ["K", "КΚ"],
  ["M", "МΜ"],
  ["N", "Ν"],
  ["O", "ОΟ"],
  ["P", "РΡ"],
  ["S", "Ѕ"],
  ["T", "ТΤ"],
  ["V", "Ѵ"],
  ["W", "Ԝ"],
  ["X", "ХΧ"],
  ["Y", "ΥҮ"],
  ["Z", "Ζ"],
];

const table = new Map(pairs.flatMap(([latin, others]) => others.split("").map((other) => [other, latin] as const)));

const plain = /^[\0-\x7f]*$/;
const all = new RegExp(`[${[...table.keys()].join("")}]`, "g");

export const lookalikes = {
  /** The text with Latin letters in their places. */
  in: (text: string): string => (plain.test(text) ? text : text.replace(all, (letter) => table.get(letter) ?? letter)),
};
