/** Finds the items and parts of an input some providers do not support. */
import { ListMemo } from "../../../turn/parse/list-memo.ts";
import type { InputItem } from "../../../turn/request.ts";
import { type JsonObject, isObject, objects } from "../json.ts";

/** An item or one part of an item some providers do not support. */
export type SpecialInput =
  | { readonly path: string; readonly item: InputItem; readonly part?: never }
  | { readonly path: string; readonly part: JsonObject; readonly item?: never };

/** Types of parts that all formats support. */
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
  "tool_search_output",
]);

const marks = ["cache_control", "prompt_cache_breakpoint"];

/** The special items and parts in the order of the input. Cached, because each endpoint of a model checks the same input, which may be long. */
export const findSpecialInputs = (input: readonly InputItem[]): readonly SpecialInput[] => specialInputs.of(input);

const specialInputs = new ListMemo<readonly SpecialInput[]>([], (before, input, from) => {
  const found = collect(input, from);
  return found.length === 0 ? before : [...before, ...found];
});

function collect(input: readonly InputItem[], from: number): readonly SpecialInput[] {
  const found: SpecialInput[] = [];
  for (let index = from; index < input.length; index++) {
    const item = input[index] as InputItem;
    if (whole.has(item.type) || isMarkedCall(item)) found.push({ path: `input.${index}`, item });
    const field = Array.isArray(item.content) ? "content" : "output";
    const parts = item[field];
    if (!Array.isArray(parts)) continue;
    let at = 0;
    for (const part of objects(parts)) {
      if (!words.has(part.type) || findCacheMark(part) !== undefined)
        found.push({ path: `input.${index}.${field}.${at}`, part });
      at++;
    }
  }
  return found;
}

const isMarkedCall = (item: InputItem): boolean => item.type === "function_call" && findCacheMark(item) !== undefined;

/** Name of the field with the cache mark in a part or call. @returns undefined without a mark */
export const findCacheMark = (part: JsonObject): string | undefined => marks.find((field) => isObject(part[field]));
