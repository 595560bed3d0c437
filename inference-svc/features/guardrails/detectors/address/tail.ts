/** Reads the parts of an address after its street line: unit, place, state, postcode and country. Each is optional. */
import type { CandidateWindow } from "../candidates.ts";
import { capitals, unitSet } from "../unit-sets.ts";
import { comma, numberUnits, isCapitalized, space, readWord } from "./words.ts";

const lineEnd = 0x0a;
const numberSign = 0x23;
const inCode = unitSet("0-9", "A-Z", " -");
const spaces = unitSet(" ");
const unit = /^(?:apt|apartment|suite|ste|unit|flat|floor|fl|room|rm|bldg|building|level|etage|stock|#)\.?$/i;
/**
 * Matches postcodes of the United States, Britain, Canada, Australia, Brazil, the Netherlands and most of Europe, with
 * the state in front where this is usual.
 */
const postcode =
  /^(?:[A-Z]{2} \d{5}(?:-\d{4})?|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}|[A-Z]{2} [A-Z]\d[A-Z] \d[A-Z]\d|[A-Z]{2,3} \d{4}|\d{5}(?:-\d{3,4})?|\d{4} [A-Z]{2}|\d{4})(?![A-Z\d])/;

/** End of the whole address; the end of the street when nothing follows. */
export function addressEnd(text: CandidateWindow, street: number): number {
  let end = street;
  for (let count = 0; count < 4; count++) {
    const next = partAt(text, end);
    if (next === undefined) return end;
    end = next;
  }
  return end;
}

/**
 * End of the next part of an address. A unit or postcode may follow a space; other parts follow a comma or line break.
 */
function partAt(text: CandidateWindow, end: number): number | undefined {
  let place = end;
  const separated = text.at(place) === comma || text.at(place) === lineEnd;
  if (separated) place++;
  place = text.run(place, spaces, 2);
  if (place === end) return undefined;
  return unitAt(text, place) ?? postcodeAt(text, place) ?? (separated ? placeAt(text, place) : undefined);
}

function unitAt(text: CandidateWindow, start: number): number | undefined {
  const word = text.at(start) === numberSign ? { text: "#", end: start + 1 } : readWord(text, start);
  if (!unit.test(word.text)) return undefined;
  const begin = text.run(word.end, spaces, 1);
  const end = text.run(begin, numberUnits, 6);
  return end > begin ? end : undefined;
}

/** End of a postcode, with the place after it. */
function postcodeAt(text: CandidateWindow, start: number): number | undefined {
  if (capitals[text.at(start)] === 1 && inCode[text.at(start + 1)] !== 1) return undefined;
  const end = text.run(start, inCode, 16);
  const written = text.slice(start, end);
  const code = postcode.exec(written)?.[0];
  if (code === undefined) return undefined;
  const after = start + code.length;
  if (text.at(after) !== space || !/^\d/.test(code)) return after;
  return cityAt(text, after + 1) ?? after;
}

/** End of a place name at the end of its line or before another part of the address. */
function placeAt(text: CandidateWindow, start: number): number | undefined {
  const city = cityAt(text, start);
  if (city === undefined) return undefined;
  const next = text.at(city);
  if (next !== space) return next === comma && postcodeAt(text, city + 2) === undefined ? undefined : city;
  return postcodeAt(text, city + 1);
}

/** End of up to three capitalized words. */
function cityAt(text: CandidateWindow, start: number): number | undefined {
  let end: number | undefined;
  let place = start;
  for (let count = 0; count < 3; count++) {
    const word = readWord(text, place);
    if (!isCapitalized(word.text) || /^[A-Z]{2,3}$/.test(word.text)) break;
    const abbreviation = /^St\.$/.test(word.text);
    end = word.text.endsWith(".") && !abbreviation ? word.end - 1 : word.end;
    if (text.at(end) !== space) break;
    place = end + 1;
  }
  return end;
}
