/** The texts of an item that may be shortened: messages and tool outputs. Arguments, reasoning and sealed content are never edited. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { InputItem } from "../../turn/request.ts";

/** Place of a text in an item: a field, or a part in a field's list. */
export interface ItemTextPosition {
  readonly field: "content" | "output";
  /** Index in the field's list; absent when the field itself is the text. */
  readonly part?: number;
}

const outputs: ReadonlySet<string> = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "apply_patch_call_output",
  "local_shell_call_output",
]);

export const isOutput = ({ type }: InputItem): boolean => outputs.has(type);

const fieldOf = (item: InputItem): ItemTextPosition["field"] | undefined => {
  if (item.type === "message") return "content";
  return isOutput(item) ? "output" : undefined;
};

const media: Readonly<Record<string, string>> = {
  input_image: "image",
  input_file: "file",
  input_audio: "sound",
  input_video: "video",
};

export function textsOf(item: InputItem): readonly (readonly [place: ItemTextPosition, text: string])[] {
  const field = fieldOf(item);
  const value = field && item[field];
  if (field === undefined) return [];
  if (typeof value === "string") return [[{ field }, value]];
  if (!Array.isArray(value)) return [];
  return value.flatMap((part: unknown, index) =>
    isObject(part) && typeof part["text"] === "string" ? [[{ field, part: index }, part["text"]] as const] : [],
  );
}

export function replaceText(item: InputItem, { field, part }: ItemTextPosition, text: string): InputItem {
  const value = item[field];
  if (part === undefined || !Array.isArray(value)) return { ...item, [field]: text };
  // Annotations are dropped, because they refer to offsets in the old text.
  const edited = (each: object) => ({ ...each, text, ...("annotations" in each && { annotations: [] }) });
  return { ...item, [field]: value.map((each: object, index) => (index === part ? edited(each) : each)) };
}

/** Replaces images, audio and files with a note; returns the same item when there are none. */
export function withoutMedia(item: InputItem): InputItem {
  const field = fieldOf(item);
  const value = field && item[field];
  if (field === undefined || !Array.isArray(value)) return item;
  const nameOf = (part: unknown) => (isObject(part) ? media[String(part["type"])] : undefined);
  if (!value.some(nameOf)) return item;
  const parts = value.map((part: unknown) => {
    const name = nameOf(part);
    return name === undefined ? part : { type: "input_text", text: `[${name} omitted]` };
  });
  return { ...item, [field]: parts };
}
