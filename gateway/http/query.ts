/** The query of a list operation: every parameter is one that is published, comes once, and has a value within its limits. */
import type { IncomingMessage } from "node:http";
import { checked, invalid } from "@sluice/proto/runtime/validation/problems.js";
import type { ObjectShape, Shape } from "@sluice/proto/runtime/validation/shape.js";

/** @throws Fault INVALID_REQUEST with every problem and its parameter */
export function readQuery<Fields extends Readonly<Record<string, Shape>>, Value>(
  { url = "" }: IncomingMessage,
  shape: ObjectShape<Fields, Value>,
): Value {
  const values: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, text] of pairsOf(url)) {
    if (name in values) throw invalid(name.slice(0, 64), "is sent more than once");
    const field = Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined;
    values[name] = field ? valueOf(text, field) : text;
  }
  checked((problems) => shape.check(values, "", problems));
  return values as Value;
}

function pairsOf(url: string): [string, string][] {
  const query = /\?([^#]*)/.exec(url)?.[1] ?? "";
  return query.split("&").flatMap((pair): [string, string][] => {
    if (pair === "") return [];
    const [name = "", ...rest] = pair.split("=");
    return [[decode(name), decode(rest.join("="))]];
  });
}

const encoded = /^(?:[!-$&-~]|%[0-9a-fA-F]{2})*$/;

/** As forms are encoded: a plus is a space. */
function decode(text: string): string {
  if (!encoded.test(text)) throw invalid("query", "malformed percent-encoding");
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw invalid("query", "percent-encoding of invalid UTF-8");
  }
}

/** What is no value of its type stays text, and the shape says what was expected. */
function valueOf(text: string, field: Shape): unknown {
  const { type } = field.schema(new Map());
  if (type === "integer" && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}
