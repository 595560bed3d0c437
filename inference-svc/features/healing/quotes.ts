/** Finds the end of a string with missing, doubled or foreign quotes. */

/** Possible closing quotes, by opening quote. */
const closers: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  "`": "`",
  "“": '”"',
  "”": '”"',
  "„": '“”"',
  "‘": "’'",
};

/** The possible closing quotes for an opening quote. @returns undefined for a character that begins no string */
export const closersOf = (opener: string): string | undefined => closers[opener];

/** Matches a key followed by a colon or equals sign. Longer keys are taken for prose. */
const key =
  /\s*(?:"(?:[^"\\\n]|\\.){0,512}"|'(?:[^'\\\n]|\\.){0,512}'|“[^”\n]{0,512}”|[\p{L}_$][\p{L}\p{N}_$-]{0,512})\s*[:=]/uy;
/** Matches a rest of the text that is too short to decide whether the quote ends the string. */
const keyBegun = /\s*(?:"(?:[^"\\\n]|\\.){0,512}\\?"?|'[^'\n]{0,512}'?|[\p{L}\p{N}_$-]{0,512})\s*$/uy;
const value = /\s*(?:["'“[{}\]]|-?\d|(?:true|false|null|True|False|None)\b|$|\/[/*])/y;
const closing = /\s*(?:[}\]]|$|\/[/*]|```)/y;
/** Matches the beginning of the next string. */
const followingQuote = /\s+"/y;
const comma = /\s*,/y;
const colon = /\s*(?::|=>?)/y;
/** Matches a value directly after a key, with the colon missing. */
const uncoloned = /\s+(?:["[{]|-?\d|(?:true|false|null)\b)/y;
const lineBreak = /[ \t]*\r?\n/y;

const ends = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
};

const isKeyAt = (text: string, at: number): boolean => ends(key, text, at) !== -1;

/** Role of a string within the JSON, which decides what may follow it. */
export type StringRole = "key" | "member" | "element";

/** Whether a quote ends its string, or is part of it. @param at index after the quote */
export function isClosingQuote(role: StringRole, text: string, at: number): boolean {
  if (role === "key") return ends(colon, text, at) !== -1 || ends(uncoloned, text, at) !== -1;
  if (ends(closing, text, at) !== -1) return true;
  const next = ends(comma, text, at);
  if (next === -1) {
    // A comma is missing after the string.
    if (role === "member") return isSpace(text[at]) && isKeyAt(text, at);
    return ends(followingQuote, text, at) !== -1 || (ends(lineBreak, text, at) !== -1 && ends(value, text, at) !== -1);
  }
  if (ends(closing, text, next) !== -1 || ends(comma, text, next) !== -1) return true;
  if (ends(keyBegun, text, next) !== -1) return true;
  return role === "member" ? isKeyAt(text, next) : ends(value, text, next) !== -1 || ends(lineBreak, text, next) !== -1;
}

const isSpace = (character: string | undefined): boolean => character !== undefined && /\s/.test(character);

/** End of a string without a closing quote: the comma or line break in front of the next quote, which opens another string. */
export function findLostEnd(role: StringRole, text: string, start: number, at: number): number | undefined {
  if (role === "key") return lostKeyEnd(text, start, at);
  if (role === "element" || !isKeyAt(text, at)) return undefined;
  let end = at;
  while (end > start && isSpace(text[end - 1])) end--;
  if (end > start && text[end - 1] === ",") return end - 1;
  return /\n/.test(text.slice(end, at)) ? end : undefined;
}

function lostKeyEnd(text: string, start: number, at: number): number | undefined {
  let end = at;
  while (end > start && isSpace(text[end - 1])) end--;
  return end > start + 1 && text[end - 1] === ":" ? end - 1 : undefined;
}
