/** Merges the token counts of a stream that reports them more than once. */
import { type JsonObject, isObject } from "../json.ts";

/**
 * Later counts replace earlier ones, unless they are null or zero: some servers end a stream with a report of zeros.
 * @param before counts so far; absent for the first report
 */
export function mergeFigures(before: JsonObject | undefined, later: JsonObject): JsonObject {
  if (before === undefined) return later;
  const merged: Record<string, unknown> = { ...before };
  for (const [name, figure] of Object.entries(later)) {
    const known = merged[name];
    if (isObject(figure)) merged[name] = mergeFigures(isObject(known) ? known : undefined, figure);
    else if (known === undefined || known === null || (figure !== null && figure !== 0)) merged[name] = figure;
  }
  return merged;
}
