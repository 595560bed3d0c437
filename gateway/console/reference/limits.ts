/** Describes the limits of a value. */
import type { JsonSchema } from "./document.ts";

const maxInt32 = 2_147_483_647;

function range(min: unknown, max: unknown, unit: string): string | undefined {
  const from = typeof min === "number" && min > -maxInt32 ? min : undefined;
  const to = typeof max === "number" && max < maxInt32 ? max : undefined;
  if (from === undefined) return to === undefined ? undefined : `at most ${to}${unit}`;
  return to === undefined ? `at least ${from}${unit}` : `${from} to ${to}${unit}`;
}

/** Describes the limits of a value, including those of its alternatives and entries. */
export function listLimits(schema: JsonSchema): readonly string[] {
  const above = schema["exclusiveMinimum"];
  const own = [
    range(schema["minimum"], schema["maximum"], ""),
    typeof above === "number" ? `above ${above}` : undefined,
    range(schema["minLength"], schema["maxLength"], " characters"),
    range(schema["minItems"], schema["maxItems"], " entries"),
    range(schema["minProperties"], schema["maxProperties"], " fields"),
    schema["default"] === undefined ? undefined : `default ${JSON.stringify(schema["default"])}`,
    schema["deprecated"] === true ? "deprecated" : undefined,
  ].filter((limit) => limit !== undefined);
  const items = schema["items"] as JsonSchema | undefined;
  const perEntry = items ? listLimits(items).map((limit) => `each ${limit}`) : [];
  return [...own, ...perEntry, ...((schema["anyOf"] ?? []) as JsonSchema[]).flatMap(listLimits)];
}
