/** The words of a JSON text: where its strings, names and numbers stand. */
import type { Pauses } from "../turn/breath.ts";

/** What a token is; `name` is the name of a member. */
export type TokenKind = "string" | "name" | "scalar";

export interface Token {
  readonly kind: TokenKind;
  /** Of its first unit in the text, the quotation mark of a string. */
  readonly start: number;
  readonly end: number;
}

const quote = 0x22;
const backslash = 0x5c;
const structure: ReadonlySet<string> = new Set(["{", "}", "[", "]", ":", ",", " ", "\t", "\n", "\r"]);

/** Signs and quotation marks that are gone through without others getting their turn. */
const stepsAtOnce = 8_192;

/** Undefined where others may have their turn. @param json well-formed */
export function* tokensOf(json: string): Generator<Token | undefined, void> {
  let at = 0;
  for (let steps = 1; at < json.length; steps++) {
    if (steps % stepsAtOnce === 0) yield undefined;
    if (json.charCodeAt(at) === quote) {
      let end = json.indexOf('"', at + 1);
      for (; end !== -1 && isQuoted(json, at, end); steps++) {
        if (steps % stepsAtOnce === 0) yield undefined;
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

/** UTF-16 units of a string that are decoded at once: a millisecond. */
const decodedAtOnce = 65_536;

/** What the token says. */
export function* valueOf(json: string, { kind, start, end }: Token): Pauses<string> {
  if (kind === "scalar") return json.slice(start, end);
  if (end - start <= decodedAtOnce) return JSON.parse(json.slice(start, end)) as string;
  const pieces: string[] = [];
  for (let at = start + 1; at < end - 1; ) {
    const cut = cutBefore(json, at, Math.min(at + decodedAtOnce, end - 1));
    pieces.push(JSON.parse(`"${json.slice(at, cut)}"`) as string);
    at = cut;
    yield;
  }
  return pieces.join("");
}

/** The place, or that of the escape in which it lies. */
function cutBefore(json: string, from: number, place: number): number {
  for (let at = Math.max(from, place - 5); at < place; at++) {
    if (json.charCodeAt(at) !== backslash || isQuoted(json, from - 1, at)) continue;
    const length = json[at + 1] === "u" ? 6 : 2;
    if (at + length > place) return at;
  }
  return place;
}

export const isEscaped = (json: string, { start, end }: Token): boolean => json.slice(start, end).includes("\\");

/** Whether the sign belongs to the text. @param before the last place that is no part of an escape */
function isQuoted(json: string, before: number, at: number): boolean {
  let first = at;
  while (first - 1 > before && json.charCodeAt(first - 1) === backslash) first--;
  return (at - first) % 2 === 1;
}

function isName(json: string, end: number): boolean {
  let at = end;
  while (at < json.length && json.charCodeAt(at) <= 0x20) at++;
  return json[at] === ":";
}
