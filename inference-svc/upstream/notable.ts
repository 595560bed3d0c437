/** What of an input some provider may be unable to take. */
import type { InputItem } from "../turn/request.ts";
import { type JsonObject, isObject, objects } from "./json.ts";

/** An item to be looked at as a whole, or one of its parts. */
export type Notable =
  | { readonly path: string; readonly item: InputItem; readonly part?: never }
  | { readonly path: string; readonly part: JsonObject; readonly item?: never };

/** Every format can say them. */
const words: ReadonlySet<unknown> = new Set([
  "input_text",
  "output_text",
  "text",
  "reasoning_text",
  "summary_text",
  "refusal",
]);

const whole: ReadonlySet<string> = new Set([
  "compaction",
  "context_compaction",
  "computer_call_output",
  "additional_tools",
]);

const known = new WeakMap<readonly InputItem[], readonly Notable[]>();

/** In the order of the input. A model's endpoints are asked one by one about the same input, which may be long: it is walked once. */
export function notableIn(input: readonly InputItem[]): readonly Notable[] {
  let found = known.get(input);
  if (found === undefined) known.set(input, (found = input.flatMap(notableOf)));
  return found;
}

function notableOf(item: InputItem, index: number): readonly Notable[] {
  const path = `input.${index}`;
  const field = Array.isArray(item.content) ? "content" : "output";
  const parts = objects(item[field]).flatMap((part, at) =>
    words.has(part.type) && cacheMarkOf(part) === undefined ? [] : [{ path: `${path}.${field}.${at}`, part }],
  );
  return whole.has(item.type) ? [{ path, item }, ...parts] : parts;
}

/** The field by which the caller marks where a cache may end; undefined without one. */
export const cacheMarkOf = (part: JsonObject): string | undefined =>
  ["cache_control", "prompt_cache_breakpoint"].find((field) => isObject(part[field]));
