/** Finds the strings, member names and other scalars of a JSON text. */
import type { Yielding } from "../../turn/time-slice.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

/** The kind of a token; `name` is the name of an object's member. */
export type JsonTokenKind = "string" | "name" | "scalar";

export interface JsonToken {
  readonly kind: JsonTokenKind;
  /** Place of the token's first UTF-16 unit; for a string, of its opening quotation mark. */
  readonly start: number;
  readonly end: number;
}

const quote = 0x22;
const backslash = 0x5c;
const structure: ReadonlySet<string> = new Set(["{", "}", "[", "]", ":", ",", " ", "\t", "\n", "\r"]);

/** Structural characters and quotation marks read between two pauses; takes about 1 ms. */
const stepsPerPause = 8_192;

/** Finds the tokens of a JSON text. Yields undefined where the caller may pause. @param json well-formed JSON */
export function* tokenizeJson(json: string): Generator<JsonToken | undefined, void> {
  let at = 0;
  for (let steps = 1; at < json.length; steps++) {
    if (steps % stepsPerPause === 0) yield undefined;
    if (unitAt(json, at) === quote) {
      let end = json.indexOf('"', at + 1);
      for (; end !== -1 && isQuoted(json, at, end); steps++) {
        if (steps % stepsPerPause === 0) yield undefined;
        end = json.indexOf('"', end + 1);
      }
      end = end === -1 ? json.length : end + 1;
      yield { kind: isName(json, end) ? "name" : "string", start: at, end };
      at = end;
    } else if (structure.has(json[at] as string)) at++;
    else {
      const start = at;
      while (at < json.length && !structure.has(json[at] as string)) at++;
      yield { kind: "scalar", start, end: at };
    }
  }
}

/** UTF-16 units of a string decoded between two pauses: 1 ms. */
const unitsPerDecode = 65_536;

/** The decoded value of a string token, or the text of any other token. */
export function* decodeToken(json: string, { kind, start, end }: JsonToken): Yielding<string> {
  if (kind === "scalar") return json.slice(start, end);
  if (end - start <= unitsPerDecode) return JSON.parse(json.slice(start, end)) as string;
  const pieces: string[] = [];
  for (let at = start + 1; at < end - 1; ) {
    const cut = findCutBefore(json, at, Math.min(at + unitsPerDecode, end - 1));
    pieces.push(JSON.parse(`"${json.slice(at, cut)}"`) as string);
    at = cut;
    yield;
  }
  return pieces.join("");
}

/** The given place, or the start of an escape that extends across it. */
function findCutBefore(json: string, from: number, place: number): number {
  for (let at = Math.max(from, place - 5); at < place; at++) {
    if (unitAt(json, at) !== backslash || isQuoted(json, from - 1, at)) continue;
    const length = json[at + 1] === "u" ? 6 : 2;
    if (at + length > place) return at;
  }
  return place;
}

export const isEscaped = (json: string, { start, end }: JsonToken): boolean => json.slice(start, end).includes("\\");

/** Whether a backslash escapes the character. @param before the last place known to be outside of an escape */
function isQuoted(json: string, before: number, at: number): boolean {
  let first = at;
  while (first - 1 > before && unitAt(json, first - 1) === backslash) first--;
  return (at - first) % 2 === 1;
}

function isName(json: string, end: number): boolean {
  let at = end;
  while (at < json.length && unitAt(json, at) <= 0x20) at++;
  return json[at] === ":";
}
