/**
 * Detects postal addresses by the grammar of the street line. The unit, place and postcode that follow it are part of
 * the match.
 */
import { type CandidateWindow, buildFinder } from "../candidates.ts";
import type { BuiltinDetector } from "../detector.ts";
import { capitals, digits, extendSet, unitSet, wordUnits } from "../unit-sets.ts";
import { addressEnd } from "./tail.ts";
import {
  comma,
  isHouseNumber,
  isCapitalized,
  readNumber,
  space,
  readWord,
  type AddressWord,
  normalizeWord,
} from "./words.ts";

/** UTF-16 units in front of a number that are searched for signs of a year. */
const yearReach = 8;
const inBox = unitSet("0-9", " ");

/** Whether the number is a year, as in `in 1969 Abbey Road was recorded`. */
const isYear = (text: CandidateWindow, start: number, number: string): boolean =>
  /^(?:19|20)\d\d$/.test(number) &&
  /(?:^|[^a-z])(?:in|since|by|until|of|from|and|year) $/i.test(text.before(start, yearReach));

/** Matches the last word of an English street name. */
const streetTypes =
  "street st avenue ave av road rd lane ln drive dr boulevard blvd court ct place pl square sq way terrace ter highway hwy parkway pkwy circle cir crescent cres close trail trl alley mews gardens grove row wharf quay loop turnpike pike plaza walk";
const englishStreetTypes: ReadonlySet<string> = new Set(streetTypes.split(" "));
/** English street types that are also common words: after a one-digit number and one word, another part of an address must follow them. */
const ambiguous: ReadonlySet<string> = new Set(
  "way place row close walk court drive square circle loop trail grove gardens plaza st pl ct dr".split(" "),
);
/** Matches words for durations and distances: `15 Minutes Drive` is not a street. */
const unitOfMeasure = /^(?:Minutes?|Mins?|Hours?|Days?|Miles?|Weeks?|Wheel|Inch|Foot)$/;
const ordinals = /^\d{1,3}(?:st|nd|rd|th)$/;
const directions = /^(?:N|S|E|W|NE|NW|SE|SW|North|South|East|West)\.?$/;
const englishConnector = /^(?:of|the|St|Saint|la|el|de|del|los|las|San|Santa)$/;

/** End of the longest English street name with its type, which starts here after a house number. */
function englishAt(text: CandidateWindow, start: number, number: string): number | undefined {
  let found: number | undefined;
  let named = 0;
  let measured = false;
  let place = start;
  for (let count = 0; count < 5; count++) {
    const digit = digits[text.at(place)] === 1;
    const word = digit ? readNumber(text, place) : readWord(text, place);
    if (word.text === "" || (digit && !ordinals.test(word.text))) break;
    if (!digit && !isCapitalized(word.text) && !englishConnector.test(word.text)) break;
    const type = normalizeWord(word.text);
    if (named > 0 && !measured && englishStreetTypes.has(type) && isCapitalized(word.text)) {
      const end = englishEnd(text, word);
      if (!ambiguous.has(type) || named > 1 || number.length > 1 || addressEnd(text, end) > end) found = end;
    }
    if (!directions.test(word.text) && word.text !== "The") named++;
    measured = unitOfMeasure.test(word.text);
    place = word.end + 1;
    if (text.at(word.end) !== space) break;
  }
  return found;
}

/** End of an English street, including an optional compass direction and its dot. */
function englishEnd(text: CandidateWindow, type: AddressWord): number {
  const isEnd = type.text.endsWith(".") && normalizeWord(type.text).length > 5;
  const end = isEnd ? type.end - 1 : type.end;
  if (text.at(end) !== space) return end;
  const next = readWord(text, end + 1);
  return directions.test(next.text) ? next.end : end;
}

/** Matches the first word of a street in Romance and Slavic languages. */
const romanceStreetType =
  /^(?:rue|avenue|av|boulevard|bd|place|chemin|impasse|allée|quai|cours|calle|avenida|avda|paseo|plaza|carrer|camino|via|viale|piazza|piazzale|corso|largo|vicolo|rua|travessa|praça|ulica|ul)\.?$/i;
const romanceConnector =
  /^(?:de|du|des|la|le|les|l'|d'|del|della|dei|di|da|do|dos|das|los|las|el|the|of|y|et|St|Ste|Saint|Sainte|San|Santa)$/;
/** Matches a street word in Germanic and Nordic languages: it ends with the street type. */
const germanicStreet =
  /^[\p{Lu}][\p{L}.'’-]{2,}(?:straße|strasse|str\.|gasse|allee|platz|weg|ring|damm|ufer|steig|chaussee|straat|laan|plein|gracht|kade|vej|gade|gatan|vägen|veien|gata|katu)$/iu;

/** End of a street that starts with a word such as `rue`, `calle` or `via`, connecting words and at least one name. */
function romanceAt(text: CandidateWindow, start: number): number | undefined {
  let end: number | undefined;
  let place = start;
  for (let count = 0; count < 6 && text.at(place) === space; count++) {
    const word = readWord(text, place + 1);
    if (word.text === "") break;
    if (isCapitalized(word.text) || /^[dl]['’]\p{Lu}/u.test(word.text))
      end = word.text.endsWith(".") ? word.end - 1 : word.end;
    else if (!romanceConnector.test(word.text)) break;
    place = word.end;
  }
  return end;
}

/** End of a Germanic street: one to three words, of which the last is or ends with the street type. */
function germanicAt(text: CandidateWindow, start: number): number | undefined {
  let place = start;
  for (let count = 0; count < 3; count++) {
    const word = readWord(text, place);
    if (!isCapitalized(word.text)) return undefined;
    if (germanicStreet.test(word.text)) return word.end;
    if (count > 0 && /^(?:Straße|Strasse|Str\.|Allee|Platz|Weg|Ring|Damm|Ufer|Gasse)$/.test(word.text)) return word.end;
    if (text.at(word.end) !== space) return undefined;
    place = word.end + 1;
  }
  return undefined;
}

/** A street with the number first: `221B Baker Street`, `12 rue de la Paix`. */
function numberFirst(text: CandidateWindow, start: number): number | undefined {
  const number = readNumber(text, start);
  if (!isHouseNumber(number.text) || isYear(text, start, number.text)) return undefined;
  let place = number.end;
  if (text.at(place) === comma) place++;
  if (text.at(place) !== space) return undefined;
  const first = readWord(text, place + 1);
  if (romanceStreetType.test(first.text) && !isCapitalized(first.text)) return romanceAt(text, first.end);
  return (
    englishAt(text, place + 1, number.text) ??
    (romanceStreetType.test(first.text) ? romanceAt(text, first.end) : undefined)
  );
}

/** A street with the number last: `Hauptstraße 12`, `Calle Mayor 5`. */
function numberLast(text: CandidateWindow, start: number): number | undefined {
  const first = readWord(text, start);
  const street = romanceStreetType.test(first.text) ? romanceAt(text, first.end) : germanicAt(text, start);
  if (street === undefined) return undefined;
  let place = street;
  if (text.at(place) === comma) place++;
  if (text.at(place) !== space) return undefined;
  const number = readNumber(text, place + 1);
  if (!isHouseNumber(number.text) || wordUnits[text.at(number.end)] === 1) return undefined;
  return number.end;
}

/** A post-office box: `P.O. Box 1234`, `Postfach 10 20 30`. */
function boxAt(text: CandidateWindow, start: number): number | undefined {
  for (const words of ["P.O. Box ", "PO Box ", "P.O.Box ", "P. O. Box ", "Post Office Box ", "Postfach "]) {
    if (!text.startsWith(start, words)) continue;
    const begin = start + words.length;
    const end = text.run(begin, inBox, 12);
    if (digits[text.at(begin)] === 1) return text.at(end - 1) === space ? end - 1 : end;
  }
  return undefined;
}

function match(text: CandidateWindow, start: number): number | undefined {
  if (digits[text.at(start)] === 1) {
    const street = numberFirst(text, start);
    return street === undefined ? undefined : addressEnd(text, street);
  }
  const street = boxAt(text, start) ?? numberLast(text, start);
  return street === undefined ? undefined : addressEnd(text, street);
}

const starts = capitals.map((member, code) => (member === 1 || digits[code] === 1 ? 1 : 0));

export const address: BuiltinDetector = {
  slug: "address",
  engine: "pattern",
  finder: buildFinder({ behind: yearReach, ahead: 260, first: starts, notAfter: extendSet(wordUnits, "-$€£#"), match }),
};
