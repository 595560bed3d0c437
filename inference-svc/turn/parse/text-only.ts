/**
 * Finds out whether an input contains only text. It then has no file, picture, address or item of a feature, and
 * nothing needs to look for them.
 */
import type { InputItem } from "../request.ts";
import { ListMemo } from "./list-memo.ts";

/** Fields that contain only text; a field unknown to Sluice could contain anything. */
const textFields: ReadonlySet<string> = new Set([
  "type",
  "role",
  "content",
  "id",
  "status",
  "phase",
  "call_id",
  "name",
  "arguments",
  "output",
]);
const partFields: ReadonlySet<string> = new Set(["type", "text", "annotations"]);

/** Whether all items are messages, function calls and their outputs that contain only text. Every endpoint takes such an input. */
export const textOnly = new ListMemo<boolean>(true, (before, input, from) => {
  if (!before) return false;
  for (let index = from; index < input.length; index++) if (!isText(input[index]!)) return false;
  return true;
});

function isText(item: InputItem): boolean {
  for (const field in item) {
    if (!textFields.has(field)) return false;
    const value = item[field];
    if (typeof value === "object" && value !== null && field !== "content") return false;
  }
  const { type, content, output } = item;
  if (type === "function_call") return content === undefined && output === undefined;
  if (type === "function_call_output") return content === undefined && typeof output === "string";
  if (type !== "message" || output !== undefined) return false;
  return typeof content === "string" || (Array.isArray(content) && content.every(isTextPart));
}

function isTextPart(part: Readonly<Record<string, unknown>> | null): boolean {
  if (part?.["type"] !== "input_text" && part?.["type"] !== "output_text") return false;
  for (const field in part) if (!partFields.has(field)) return false;
  return true;
}
