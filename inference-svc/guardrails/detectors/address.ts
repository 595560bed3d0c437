/** Postal addresses by the grammar of their street line; what follows of unit, place and postcode belongs to them. */
import { type Window, finderOf } from "./candidates.ts";
import type { Detector } from "./detector.ts";
import { capitals, digits, including, letters, units, wordUnits } from "./units.ts";

const space = 0x20;
const comma = 0x2c;
const inWord = including(letters, "'’.-");
const inNumber = units("0-9", "a-z", "A-Z", "-/");
const inCode = units("0-9", "A-Z", " -");
const inBox = units("0-9", " ");
const spaces = units(" ");
const longestWord = 32;

/** What an English street ends with. */
const types =
  "street st avenue ave av road rd lane ln drive dr boulevard blvd court ct place pl square sq way terrace ter highway hwy parkway pkwy circle cir crescent cres close trail trl alley mews gardens grove row wharf quay loop turnpike pike plaza walk";
const endsEnglish: ReadonlySet<string> = new Set(types.split(" "));
/** Types that are common words, too: they need a name of a person's making in front, and a place behind. */
const ambiguous: ReadonlySet<string> = new Set(
  "way place row close walk court drive square circle loop trail grove gardens plaza st pl ct dr".split(" "),
);
/** How far and how long, not which: 15 Minutes Drive. */
const measures = /^(?:Minutes?|Mins?|Hours?|Days?|Miles?|Weeks?|Wheel|Inch|Foot)$/;
const ordinals = /^\d{1,3}(?:st|nd|rd|th)$/;
const directions = /^(?:N|S|E|W|NE|NW|SE|SW|North|South|East|West)\.?$/;

/** What a street of other languages begins with. */
const beginsRomance =
  /^(?:rue|avenue|av|boulevard|bd|place|chemin|impasse|allée|quai|cours|calle|avenida|avda|paseo|plaza|carrer|camino|via|viale|piazza|piazzale|corso|largo|vicolo|rua|travessa|praça|ulica|ul)\.?$/i;
const connects =
  /^(?:de|du|des|la|le|les|l'|d'|del|della|dei|di|da|do|dos|das|los|las|el|the|of|y|et|St|Ste|Saint|Sainte|San|Santa)$/;
/** What a street of the Germanic and Nordic languages ends with. */
const endsGermanic =
  /^[\p{Lu}][\p{L}.'’-]{2,}(?:straße|strasse|str\.|gasse|allee|platz|weg|ring|damm|ufer|steig|chaussee|straat|laan|plein|gracht|kade|vej|gade|gatan|vägen|veien|gata|katu)$/iu;

const unit = /^(?:apt|apartment|suite|ste|unit|flat|floor|fl|room|rm|bldg|building|level|etage|stock|#)\.?$/i;

interface Word {
  readonly text: string;
  readonly end: number;
}

const wordAt = (text: Window, start: number): Word => {
  const end = text.run(start, inWord, longestWord);
  return { text: text.slice(start, end), end };
};

const numberAt = (text: Window, start: number): Word => {
  const end = digits[text.at(start)] === 1 ? text.run(start, inNumber, 9) : start;
  return { text: text.slice(start, end), end };
};

const isHouse = (number: string): boolean => /^\d{1,5}(?:[a-z]|[-/]\d{1,4}[a-z]?|\s?bis)?$/i.test(number);
const bare = (word: string): string => word.replace(/\.$/, "").toLowerCase();
const isName = (word: string): boolean => /^\p{Lu}/u.test(word);

/** `221B Baker Street`, `12 rue de la Paix`: the number first. */
function numberFirst(text: Window, start: number): number | undefined {
  const number = numberAt(text, start);
  if (!isHouse(number.text)) return undefined;
  let place = number.end;
  if (text.at(place) === comma) place++;
  if (text.at(place) !== space) return undefined;
  const first = wordAt(text, place + 1);
  if (beginsRomance.test(first.text) && !isName(first.text)) return romanceAt(text, first.end);
  return (
    englishAt(text, place + 1, number.text) ?? (beginsRomance.test(first.text) ? romanceAt(text, first.end) : undefined)
  );
}

/** Up to four words of a name, then the type; the longest that is one. */
function englishAt(text: Window, start: number, number: string): number | undefined {
  let found: number | undefined;
  let named = 0;
  let measured = false;
  let place = start;
  for (let count = 0; count < 5; count++) {
    const digit = digits[text.at(place)] === 1;
    const word = digit ? numberAt(text, place) : wordAt(text, place);
    if (word.text === "" || (digit && !ordinals.test(word.text))) break;
    if (!digit && !isName(word.text) && !connects.test(word.text)) break;
    const type = bare(word.text);
    if (named > 0 && !measured && endsEnglish.has(type) && isName(word.text)) {
      const end = englishEnd(text, word);
      if (!ambiguous.has(type) || named > 1 || number.length > 1 || tailAt(text, end) > end) found = end;
    }
    if (!directions.test(word.text) && word.text !== "The") named++;
    measured = measures.test(word.text);
    place = word.end + 1;
    if (text.at(word.end) !== space) break;
  }
  return found;
}

/** Behind the type a direction may stand; its dot is an abbreviation's. */
function englishEnd(text: Window, type: Word): number {
  const isEnd = type.text.endsWith(".") && bare(type.text).length > 5;
  const end = isEnd ? type.end - 1 : type.end;
  if (text.at(end) !== space) return end;
  const next = wordAt(text, end + 1);
  return directions.test(next.text) ? next.end : end;
}

/** After rue, calle, via: connecting words and at least one name. */
function romanceAt(text: Window, start: number): number | undefined {
  let end: number | undefined;
  let place = start;
  for (let count = 0; count < 6 && text.at(place) === space; count++) {
    const word = wordAt(text, place + 1);
    if (word.text === "") break;
    if (isName(word.text) || /^[dl]['’]\p{Lu}/u.test(word.text))
      end = word.text.endsWith(".") ? word.end - 1 : word.end;
    else if (!connects.test(word.text)) break;
    place = word.end;
  }
  return end;
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

/** One to three words, the last of which says street, alone or as its end. */
function germanicAt(text: Window, start: number): number | undefined {
  let place = start;
  for (let count = 0; count < 3; count++) {
    const word = wordAt(text, place);
    if (!isName(word.text)) return undefined;
    if (endsGermanic.test(word.text)) return word.end;
    if (count > 0 && /^(?:Straße|Strasse|Str\.|Allee|Platz|Weg|Ring|Damm|Ufer|Gasse)$/.test(word.text)) return word.end;
    if (text.at(word.end) !== space) return undefined;
    place = word.end + 1;
  }
  return undefined;
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

/** Unit, place, state, postcode and country, as many as follow. */
function tailAt(text: Window, street: number): number {
  let end = street;
  for (let count = 0; count < 4; count++) {
    const next = partAt(text, end);
    if (next === undefined) return end;
    end = next;
  }
  return end;
}

/** After `, ` or a line's end a part that belongs to an address; a unit or state also after a space. */
function partAt(text: Window, end: number): number | undefined {
  let place = end;
  const separated = text.at(place) === comma || text.at(place) === 0x0a;
  if (separated) place++;
  place = text.run(place, spaces, 2);
  if (place === end) return undefined;
  return unitAt(text, place) ?? postcodeAt(text, place) ?? (separated ? placeAt(text, place) : undefined);
}

function unitAt(text: Window, start: number): number | undefined {
  const word = text.at(start) === 0x23 ? { text: "#", end: start + 1 } : wordAt(text, start);
  if (!unit.test(word.text)) return undefined;
  const begin = text.run(word.end, spaces, 1);
  const end = text.run(begin, inNumber, 6);
  return end > begin ? end : undefined;
}

/** Of the United States, Britain, Canada, Australia, most of Europe, the Netherlands, Brazil; with the state in front. */
const postcode =
  /^(?:[A-Z]{2} \d{5}(?:-\d{4})?|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}|[A-Z]{2} [A-Z]\d[A-Z] \d[A-Z]\d|[A-Z]{2,3} \d{4}|\d{5}(?:-\d{3,4})?|\d{4} [A-Z]{2}|\d{4})(?![A-Z\d])/;

/** With the state or place that stands beside it. */
function postcodeAt(text: Window, start: number): number | undefined {
  if (capitals[text.at(start)] === 1 && inCode[text.at(start + 1)] !== 1) return undefined;
  const end = text.run(start, inCode, 16);
  const written = text.slice(start, end);
  const code = postcode.exec(written)?.[0];
  if (code === undefined) return undefined;
  const after = start + code.length;
  if (text.at(after) !== space || !/^\d/.test(code)) return after;
  return cityAt(text, after + 1) ?? after;
}

/** A place that more of the address follows, or that ends the line. */
function placeAt(text: Window, start: number): number | undefined {
  const city = cityAt(text, start);
  if (city === undefined) return undefined;
  const next = text.at(city);
  if (next !== space) return next === comma && postcodeAt(text, city + 2) === undefined ? undefined : city;
  return postcodeAt(text, city + 1);
}

/** Up to three capitalised words. */
function cityAt(text: Window, start: number): number | undefined {
  let end: number | undefined;
  let place = start;
  for (let count = 0; count < 3; count++) {
    const word = wordAt(text, place);
    if (!isName(word.text) || /^[A-Z]{2,3}$/.test(word.text)) break;
    const abbreviation = /^St\.$/.test(word.text);
    end = word.text.endsWith(".") && !abbreviation ? word.end - 1 : word.end;
    if (text.at(end) !== space) break;
    place = end + 1;
  }
  return end;
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
  placeholder: "[ADDRESS]",
  engine: "pattern",
  finder: finderOf({ behind: 2, ahead: 260, first: starts, notAfter: including(wordUnits, "-$€£#"), match }),
};
