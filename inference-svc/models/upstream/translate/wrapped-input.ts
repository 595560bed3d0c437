/** Decodes the text in `{"input":"..."}` while it streams: the arguments of a custom tool sent as a function. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import type { CallWriter, ItemStatus } from "../events/item-writer.ts";
import { isObject } from "../json.ts";
import { isCutObject } from "./cut-json.ts";

const escapes: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const beginning = /^\s*\{\s*"input"\s*:\s*"/;

export class WrappedInput {
  /** All JSON received so far. */
  json = "";
  #place: "before" | "inside" | "after" = "before";
  /** Start of an escape sequence that is not complete. */
  #rest = "";
  /** First half of a surrogate pair, held back until the second half comes. */
  #half = "";

  /** Takes a piece of JSON. @returns newly decoded text, without parts of escape sequences and characters */
  read(json: string): string {
    this.json += json;
    if (this.#place === "inside") return this.#whole(this.#decode(this.#rest + json));
    const begun = this.#place === "before" ? beginning.exec(this.json) : undefined;
    if (!begun) return "";
    this.#place = "inside";
    return this.#whole(this.#decode(this.json.slice(begun[0].length)));
  }

  /** @returns the remaining text at the end of the call; all of the JSON, if the model did not follow the schema */
  finish(): string {
    return this.#place === "before" ? unwrapped(this.json) : "";
  }

  /** Whether the JSON breaks off before the end of the text. */
  get isCut(): boolean {
    return this.#place === "inside" || (this.#place === "before" && isCutObject(this.json));
  }

  #decode(json: string): string {
    let text = "";
    let from = 0;
    let at = 0;
    while (at < json.length && json[at] !== '"') {
      if (json[at] !== "\\") {
        at++;
        continue;
      }
      const end = at + (json[at + 1] === "u" ? 6 : 2);
      if (end > json.length) break;
      text += json.slice(from, at) + unescaped(json.slice(at + 1, end));
      from = at = end;
    }
    if (json[at] === '"') this.#place = "after";
    this.#rest = json.slice(at);
    return text + json.slice(from, at);
  }

  #whole(decoded: string): string {
    const text = this.#half + decoded;
    const code = text.charCodeAt(text.length - 1);
    const cut = code >= 0xd800 && code <= 0xdbff && this.#place === "inside";
    this.#half = cut ? text.slice(-1) : "";
    return cut ? text.slice(0, -1) : text;
  }
}

/** Ends the call of a custom tool sent as a function. */
export function endWrapped(call: CallWriter, wrapped: WrappedInput, status: ItemStatus): void {
  if (status === "completed" && !wrapped.isCut) call.arguments(wrapped.finish());
  call.end(status, {}, wrapped.isCut);
}

/** Decodes an escape sequence. @param escape the sequence without its backslash; unknown ones stand for themselves */
function unescaped(escape: string): string {
  if (!escape.startsWith("u")) return escapes[escape] ?? escape;
  const code = Number.parseInt(escape.slice(1), 16);
  return Number.isNaN(code) ? escape : String.fromCharCode(code);
}

/**
 * The input in an object: the member `input`, else the object's only text, else all of the JSON as text. An object
 * without members means an empty input.
 */
function unwrapped(json: string): string {
  try {
    const value = parseWithin(json);
    if (typeof value === "string") return value;
    if (!isObject(value)) return json;
    if (typeof value.input === "string") return value.input;
    const [only = "", ...others] = Object.values(value);
    return typeof only === "string" && others.length === 0 ? only : json;
  } catch {
    return json;
  }
}
