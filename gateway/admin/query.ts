/** Reads the query of a request by its published shape. */
import type { IncomingMessage } from "node:http";
import { throwProblems, invalid } from "@sluice/proto/lib/validation/problems.js";
import type { ObjectShape, Shape } from "@sluice/proto/lib/validation/shape.js";

type Fields = Readonly<Record<string, Shape>>;

/**
 * Parameters of a query. A strict query rejects unknown and repeated parameters. Otherwise an unknown or empty parameter is ignored, and the last
 * value of a repeated one counts.  @throws Fault INVALID_REQUEST with every problem and its parameter
 */
export function readQuery({ url = "" }: IncomingMessage, shape: ObjectShape<Fields>): unknown {
  const values = shape.rules.strict === true ? strictValues(url, shape.fields) : lenientValues(url, shape.fields);
  throwProblems((problems) => shape.check(values, "", problems));
  return values;
}

function strictValues(url: string, fields: Fields): Record<string, unknown> {
  const values = Object.create(null) as Record<string, unknown>;
  for (const [name, text] of pairsIn(url)) {
    if (name in values) throw invalid(name.slice(0, 64), "is sent more than once");
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    values[name] = field ? parseValue(text, field) : text;
  }
  return values;
}

function lenientValues(url: string, fields: Fields): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const start = url.indexOf("?");
  for (const [name, text] of new URLSearchParams(start === -1 ? "" : url.slice(start + 1))) {
    if (text !== "" && Object.hasOwn(fields, name)) values[name] = parseValue(text, fields[name] as Shape);
  }
  return values;
}

function pairsIn(url: string): [string, string][] {
  const query = /\?([^#]*)/.exec(url)?.[1] ?? "";
  return query.split("&").flatMap((pair): [string, string][] => {
    if (pair === "") return [];
    const [name = "", ...rest] = pair.split("=");
    return [[decode(name), decode(rest.join("="))]];
  });
}

const encoded = /^(?:[!-$&-~]|%[0-9a-fA-F]{2})*$/;

/** Decodes a part of a query like form data: a plus is a space. */
function decode(text: string): string {
  if (!encoded.test(text)) throw invalid("query", "malformed percent-encoding");
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw invalid("query", "percent-encoding of invalid UTF-8");
  }
}

/** Programs write small numbers with an exponent: 0.00001 is `1e-05` in Python. */
const jsonNumber = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** Converts a text to the type of the field. A text that does not fit stays a text, and the check of the shape then reports the expected type. */
function parseValue(text: string, field: Shape): unknown {
  const { type } = field.schema(new Map());
  if (type === "integer" && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === "number" && jsonNumber.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}
