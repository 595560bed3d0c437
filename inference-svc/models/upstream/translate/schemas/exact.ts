/** Reads and writes JSON without changing the spelling of numbers: parsing would lose digits of large numbers, and the point of 1.0. */
import { type JsonObject, isObject } from "../../json.ts";

/** Prefix of a text that stands for a number, which JSON of clients hardly ever contains. */
const sign = "\u0000#";
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const standing = /"\\u0000#(-?[\d.eE+-]+)"/g;

/** Parses an object, with numbers as texts. @returns an empty object for any other JSON */
export function parseExactly(json: string): JsonObject {
  const marked = json.replaceAll(tokens, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : JSON.stringify(sign + token),
  );
  const value: unknown = JSON.parse(marked);
  return isObject(value) ? value : {};
}

export const writeExactly = (value: unknown): string => JSON.stringify(value).replaceAll(standing, "$1");

export const isNumber = (value: unknown): boolean =>
  typeof value === "number" || (typeof value === "string" && value.startsWith(sign));

/** The value of a number parsed as a text; NaN for anything else. */
export const numberOf = (value: unknown): number =>
  typeof value === "string" && value.startsWith(sign)
    ? Number(value.slice(sign.length))
    : typeof value === "number"
      ? value
      : Number.NaN;
