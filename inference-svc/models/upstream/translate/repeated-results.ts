/** Several results of one call, as some clients write a result of several parts, are one result to every format. */
import type { InputItem } from "../../../turn/request.ts";
import { type JsonObject, objects } from "../json.ts";

const isResult = ({ type }: InputItem): boolean =>
  type === "function_call_output" || type === "custom_tool_call_output";

const isSame = (one: InputItem, other: InputItem): boolean => one.call_id === other.call_id && one.type === other.type;

/** Whether a result of the same call stands among the results right before it. */
export function isFurtherResult(input: readonly InputItem[], index: number): boolean {
  const item = input[index];
  if (item === undefined || !isResult(item)) return false;
  for (let at = index - 1; at >= 0; at--) {
    const before = input[at] as InputItem;
    if (!isResult(before)) return false;
    if (isSame(before, item)) return true;
  }
  return false;
}

/** @returns the item itself unless further results of its call stand among the results right behind it */
export function withFurtherResults(input: readonly InputItem[], index: number): InputItem {
  const item = input[index] as InputItem;
  if (!isResult(item)) return item;
  let whole = item;
  for (let at = index + 1; at < input.length; at++) {
    const next = input[at] as InputItem;
    if (!isResult(next)) break;
    if (isSame(item, next)) whole = { ...whole, output: joined(whole.output, next.output) };
  }
  return whole;
}

const joined = (one: unknown, other: unknown): unknown =>
  typeof one === "string" && typeof other === "string" ? `${one}\n${other}` : [...partsOf(one), ...partsOf(other)];

const partsOf = (output: unknown): readonly JsonObject[] =>
  typeof output === "string" ? [{ type: "input_text", text: output }] : objects(output);

/** Completes "repaired: ". */
export const joinedResult = "repaired: sent within the first result of its call, because a call has one";
