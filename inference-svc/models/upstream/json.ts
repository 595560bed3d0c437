/** Parses JSON of providers without trusting its form, and writes JSON that contains JSON texts unchanged. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { providerFailed } from "./failure.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

export { type JsonObject, isObject };

/** Parses an object. @throws Fault when the text is not a JSON object */
export function parseObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw providerFailed("not JSON", cause);
  }
  if (!isObject(value)) throw providerFailed("not a JSON object");
  return value;
}

const none: readonly JsonObject[] = [];

/** The objects in a list; the list itself when it contains nothing else. Empty for other values. */
export function objects(value: unknown): readonly JsonObject[] {
  if (!Array.isArray(value)) return none;
  for (const entry of value) if (!isObject(entry)) return value.filter(isObject);
  return value;
}

/** The value if it is a string; empty for any other value. */
export const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Maximum token count, above any real one; the sum over the attempts of a turn still fits into a 32-bit integer. */
const maxCount = 100_000_000;

/** A token count; 0 for values that cannot be one. Providers have sent negative counts, huge counts and strings. */
export function parseCount(value: unknown): number {
  const number = Math.floor(Number(typeof value === "number" || typeof value === "string" ? value : 0));
  return number > 0 && number <= maxCount ? number : 0;
}

/** JSON text copied into a body unchanged, because parsing and writing it would round its numbers. */
export class Verbatim {
  readonly json: string;
  constructor(json: string) {
    this.json = json;
  }
}

/** Writes a JSON object member by member. Undefined members are left out. */
export class ObjectWriter {
  #text = "";

  /** Adds a member. @param name a name without characters that JSON must escape */
  add(name: string, value: unknown): void {
    if (value !== undefined) this.addJson(name, value instanceof Verbatim ? value.json : JSON.stringify(value));
  }

  addJson(name: string, json: string): void {
    this.#text += (this.#text === "" ? "{" : ",") + quotedName(name);
    this.#text += json;
  }

  /** Ends the object. */
  end(): string {
    return this.#text === "" ? "{}" : `${this.#text}}`;
  }
}

/** Writes a JSON object; undefined fields are left out. */
export function objectJson(fields: JsonObject): string {
  const object = new ObjectWriter();
  for (const name in fields) object.add(name, fields[name]);
  return object.end();
}

/** Writes any JSON value, which may contain `Verbatim` texts at any depth. */
export function jsonText(value: unknown): string {
  const writer = new JsonWriter();
  writer.write(value);
  return writer.text;
}

/** Builds JSON by appending to one text: a text for each value, joined later, takes three times the memory. */
class JsonWriter {
  text = "";

  write(value: unknown): void {
    if (typeof value === "string") this.text += quoted(value);
    else if (typeof value !== "object" || value === null) this.text += JSON.stringify(value ?? null);
    else if (value instanceof Verbatim) this.text += value.json;
    else if (Array.isArray(value)) this.#array(value);
    else this.#object(value as JsonObject);
  }

  #array(entries: readonly unknown[]): void {
    for (let index = 0; index < entries.length; index++) {
      this.text += index === 0 ? "[" : ",";
      this.write(entries[index]);
    }
    this.text += entries.length === 0 ? "[]" : "]";
  }

  #object(object: JsonObject): void {
    let separator = "{";
    for (const name in object) {
      const member = object[name];
      if (member === undefined) continue;
      this.text += separator + quotedName(name);
      this.write(member);
      separator = ",";
    }
    this.text += separator === "{" ? "{}" : "}";
  }
}

/** Maximum characters of a string checked here: for a longer one, JSON.stringify takes less time. */
const shortCharacters = 32;
const space = 0x20;
const quote = 0x22;
const backslash = 0x5c;
const tilde = 0x7e;

function quoted(text: string): string {
  const { length } = text;
  if (length > shortCharacters) return JSON.stringify(text);
  for (let index = 0; index < length; index++) {
    const code = unitAt(text, index);
    if (code < space || code > tilde || code === quote || code === backslash) return JSON.stringify(text);
  }
  return `"${text}"`;
}

/** JSON of member names with their colon, cached: formats have few names, but clients may invent others. */
const names = new Map<string, string>();
const maxNames = 1_000;

function quotedName(name: string): string {
  let json = names.get(name);
  if (json !== undefined) return json;
  json = `${JSON.stringify(name)}:`;
  if (names.size < maxNames && name.length <= shortCharacters) names.set(name, json);
  return json;
}

/** Writes a JSON array of objects. */
export const arrayJson = (entries: readonly JsonObject[]): Verbatim =>
  new Verbatim(`[${entries.map(objectJson).join(",")}]`);
