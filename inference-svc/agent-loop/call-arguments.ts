/** Parses the arguments of a call, and normalizes them to compare calls. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { Shape } from "@sluice/proto/lib/validation/shape.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";

/** @returns the arguments, or a sentence for the model about the error */
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

/** Equal values give equal texts, whatever the order of their members. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    isObject(member) ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
