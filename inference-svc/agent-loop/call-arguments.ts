/** Parses the JSON arguments of a tool call, and writes them in a canonical form so equal calls can be recognized. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { Shape } from "@sluice/proto/lib/validation/shape.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";

/** @returns the parsed arguments, or a sentence for the model about what is wrong with them */
export function readArguments(json: string, shape: Shape): JsonObject | string {
  let args: unknown;
  try {
    args = json.trim() === "" ? {} : parseWithin(json);
  } catch {
    return "the arguments are not JSON";
  }
  if (!isObject(args)) return "the arguments are not an object";
  try {
    const problems = new Problems();
    shape.check(args, "", problems);
    problems.throwIfAny();
    return args;
  } catch (error) {
    return Fault.from(error).message;
  }
}

/** JSON with sorted member names: equal values give equal texts. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    isObject(member) ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
