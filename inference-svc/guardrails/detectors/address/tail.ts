/** What follows the street line of an address: unit, place, state, postcode and country, as many as there are. */
import type { Window } from "../candidates.ts";
import { capitals, units } from "../units.ts";
import { comma, inNumber, isName, space, wordAt } from "./words.ts";

const lineEnd = 0x0a;
const numberSign = 0x23;
const inCode = units("0-9", "A-Z", " -");
const spaces = units(" ");
const unit = /^(?:apt|apartment|suite|ste|unit|flat|floor|fl|room|rm|bldg|building|level|etage|stock|#)\.?$/i;
/** Of the United States, Britain, Canada, Australia, most of Europe, the Netherlands, Brazil; with the state in front. */
const postcode =
  /^(?:[A-Z]{2} \d{5}(?:-\d{4})?|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}|[A-Z]{2} [A-Z]\d[A-Z] \d[A-Z]\d|[A-Z]{2,3} \d{4}|\d{5}(?:-\d{3,4})?|\d{4} [A-Z]{2}|\d{4})(?![A-Z\d])/;

/** End of the whole, which is that of the street when nothing follows. */
export function tailAt(text: Window, street: number): number {
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
  const separated = text.at(place) === comma || text.at(place) === lineEnd;
  if (separated) place++;
  place = text.run(place, spaces, 2);
  if (place === end) return undefined;
  return unitAt(text, place) ?? postcodeAt(text, place) ?? (separated ? placeAt(text, place) : undefined);
}

function unitAt(text: Window, start: number): number | undefined {
  const word = text.at(start) === numberSign ? { text: "#", end: start + 1 } : wordAt(text, start);
  if (!unit.test(word.text)) return undefined;
  const begin = text.run(word.end, spaces, 1);
  const end = text.run(begin, inNumber, 6);
  return end > begin ? end : undefined;
}

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
