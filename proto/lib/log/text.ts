/** Builds the JSON of log lines member by member: to serialize an object for each line takes several times as long. */
import type { LogFields } from "./fields.ts";
import { unitAt } from "../text/unit-at.ts";

/** Maximum length of a logged text in characters, because a client may send megabytes as a name. */
const maxCharacters = 1_024;

/** A JSON member with a comma before it; an empty text when there is no value. A long text is cut. */
export function logMember(name: keyof LogFields, value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return `,"${name}":${quoted(value)}`;
  return `,"${name}":${typeof value === "bigint" ? value : inert(JSON.stringify(value))}`;
}

const space = 0x20;
const quote = 0x22;
const backslash = 0x5c;
const tilde = 0x7e;

/** A text as a JSON string; a long text is cut. */
export function quoted(whole: string): string {
  const text = whole.length > maxCharacters ? whole.slice(0, maxCharacters) : whole;
  const { length } = text;
  // Nearly all logged texts are printable ASCII without quotes and backslashes, which need no escapes.
  for (let index = 0; index < length; index++) {
    const code = unitAt(text, index);
    if (code < space || code > tilde || code === quote || code === backslash) return inert(JSON.stringify(text));
  }
  return `"${text}"`;
}

/**
 * Control characters that JSON allows but terminals and viewers interpret: C1, line separators, and marks and overrides
 * of direction.
 */
const acting = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Escapes such control characters. The meaning of the JSON stays the same, because only its strings can contain them.
 */
const inert = (json: string): string =>
  json.replace(acting, (character) => `\\u${unitAt(character, 0).toString(16).padStart(4, "0")}`);
