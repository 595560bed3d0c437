/** JSON as providers send and take it: read with suspicion, written with parts that somebody else wrote. */
import { providerFailed } from "./failure.ts";

export type JsonObject = { readonly [field: string]: unknown };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @throws Fault when the text is not a JSON object */
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

export const objects = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** "" for everything but a string. */
export const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** No answer takes a hundred million of anything; so many attempts of a turn still add up to what fits into 32 bits. */
const mostCounted = 100_000_000;

/** A figure that can be; 0 for one that cannot, which is as good as none. Providers have sent negative ones, huge ones and strings. */
export function count(value: unknown): number {
  const number = Math.floor(Number(typeof value === "number" || typeof value === "string" ? value : 0));
  return number > 0 && number <= mostCounted ? number : 0;
}

/** JSON text that is put into a body as it stands: parsing and writing it again would round its numbers. */
export class Verbatim {
  readonly json: string;
  constructor(json: string) {
    this.json = json;
  }
}

/** A JSON object; fields that are undefined are left out. */
export function objectJson(fields: JsonObject): string {
  let members = "";
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const json = value instanceof Verbatim ? value.json : JSON.stringify(value);
    members += `${members === "" ? "" : ","}${JSON.stringify(name)}:${json}`;
  }
  return `{${members}}`;
}

/** Any JSON; parts that somebody else wrote may stand at any depth. */
export function jsonText(value: unknown): string {
  if (value instanceof Verbatim) return value.json;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${jsonText(member)}`).join(",")}}`;
}

/** A JSON array of such objects. */
export const arrayJson = (entries: readonly JsonObject[]): Verbatim =>
  new Verbatim(`[${entries.map(objectJson).join(",")}]`);
