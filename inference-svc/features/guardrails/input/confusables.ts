/**
 * Cyrillic, Greek, Armenian and phonetic letters that look like Latin letters in most typefaces, chosen by eye. Each is
 * one UTF-16 unit. Merely similar letters, such as a Greek nu, are left out, because every entry costs false alarms.
 */
const pairs: readonly (readonly [latin: string, others: string])[] = [
  ["a", "аɑα"],
  ["b", "ЬƄ"],
  ["c", "сϲ"],
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
  ["s", "ѕ"],
  ["t", "т"],
  ["u", "υս"],
  ["v", "νѵ"],
  ["w", "ԝ"],
  ["x", "хχ"],
  ["y", "уүγ"],
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

export const confusables = {
  /** The text with its confusables replaced by Latin letters. */
  fold: (text: string): string =>
    plain.test(text) ? text : text.replace(all, (letter) => table.get(letter) ?? letter),
};
