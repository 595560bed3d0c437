/** Postal addresses by the grammar of their street line; what follows of unit, place and postcode belongs to them. */
import { type Window, finderOf } from "../candidates.ts";
import type { Detector } from "../detector.ts";
import { capitals, digits, including, units, wordUnits } from "../units.ts";
import { beginsRomance, germanicAt, romanceAt } from "./continental.ts";
import { englishAt } from "./english.ts";
import { tailAt } from "./tail.ts";
import { comma, isHouse, isName, numberAt, space, wordAt } from "./words.ts";

/** Units in front of a number in which something may say that it is a year. */
const reach = 8;
const inBox = units("0-9", " ");

/** `in 1969 Abbey Road was recorded` */
const isYear = (text: Window, start: number, number: string): boolean =>
  /^(?:19|20)\d\d$/.test(number) &&
  /(?:^|[^a-z])(?:in|since|by|until|of|from|and|year) $/i.test(text.before(start, reach));

/** `221B Baker Street`, `12 rue de la Paix`: the number first. */
function numberFirst(text: Window, start: number): number | undefined {
  const number = numberAt(text, start);
  if (!isHouse(number.text) || isYear(text, start, number.text)) return undefined;
  let place = number.end;
  if (text.at(place) === comma) place++;
  if (text.at(place) !== space) return undefined;
  const first = wordAt(text, place + 1);
  if (beginsRomance.test(first.text) && !isName(first.text)) return romanceAt(text, first.end);
  return (
    englishAt(text, place + 1, number.text) ?? (beginsRomance.test(first.text) ? romanceAt(text, first.end) : undefined)
  );
}

/** `Hauptstraße 12`, `Calle Mayor 5`: the number last. */
function numberLast(text: Window, start: number): number | undefined {
  const first = wordAt(text, start);
  const street = beginsRomance.test(first.text) ? romanceAt(text, first.end) : germanicAt(text, start);
  if (street === undefined) return undefined;
  let place = street;
  if (text.at(place) === comma) place++;
  if (text.at(place) !== space) return undefined;
  const number = numberAt(text, place + 1);
  if (!isHouse(number.text) || wordUnits[text.at(number.end)] === 1) return undefined;
  return number.end;
}

/** `P.O. Box 1234`, `Postfach 10 20 30`. */
function boxAt(text: Window, start: number): number | undefined {
  for (const words of ["P.O. Box ", "PO Box ", "P.O.Box ", "P. O. Box ", "Post Office Box ", "Postfach "]) {
    if (!text.says(start, words)) continue;
    const begin = start + words.length;
    const end = text.run(begin, inBox, 12);
    if (digits[text.at(begin)] === 1) return text.at(end - 1) === space ? end - 1 : end;
  }
  return undefined;
}

function match(text: Window, start: number): number | undefined {
  if (digits[text.at(start)] === 1) {
    const street = numberFirst(text, start);
    return street === undefined ? undefined : tailAt(text, street);
  }
  const street = boxAt(text, start) ?? numberLast(text, start);
  return street === undefined ? undefined : tailAt(text, street);
}

const starts = capitals.map((member, code) => (member === 1 || digits[code] === 1 ? 1 : 0));

export const address: Detector = {
  slug: "address",
  engine: "pattern",
  finder: finderOf({ behind: reach, ahead: 260, first: starts, notAfter: including(wordUnits, "-$€£#"), match }),
};
