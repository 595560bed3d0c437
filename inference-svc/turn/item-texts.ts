/** Finds and edits the streamed texts of an output item. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { OutputItem, TurnEvent } from "./turn.ts";

export type TextEvent = Extract<TurnEvent, { readonly delta: string }>;

/** Identifies a text of an item by type and part number of its deltas. */
export type TextKey = `${TextEvent["type"]} ${number}`;

export const toTextKey = (event: TextEvent): TextKey => `${event.type} ${"part" in event ? event.part : 0}`;

/** Type and part number of a text's deltas. */
export interface DeltaPosition {
  readonly type: TextEvent["type"];
  readonly part: number;
}

export function toDeltaPosition(key: TextKey): DeltaPosition {
  const [type, part] = key.split(" ") as [TextEvent["type"], string];
  return { type, part: Number(part) };
}

/** Makes a delta. @param item index of the item */
export const buildDelta = ({ type, part }: DeltaPosition, item: number, delta: string): TextEvent =>
  type === "arguments.delta" ? { type, index: item, delta } : { type, index: item, part, delta };

/** A copy of a delta with more text at its end. */
export function extendDelta(event: TextEvent, more: string): TextEvent {
  const part = "part" in event ? event.part : 0;
  return buildDelta({ type: event.type, part }, event.index, event.delta + more);
}

export const continuesText = (event: TextEvent, { type, part }: DeltaPosition): boolean =>
  event.type === type && (!("part" in event) || event.part === part);

export interface PartJson {
  readonly type?: unknown;
  readonly [field: string]: unknown;
}

/** For each type of part, the type of its deltas, and its field with the text. */
const textFieldsOfParts: ReadonlyMap<unknown, readonly [TextEvent["type"], "text" | "refusal"]> = new Map([
  ["output_text", ["text.delta", "text"]],
  ["refusal", ["refusal.delta", "refusal"]],
  ["reasoning_text", ["reasoning.delta", "text"]],
  ["summary_text", ["summary.delta", "text"]],
]);

/** For each type of call, its field with the text that streams. */
const textFieldsOfCalls: ReadonlyMap<string, string> = new Map([
  ["function_call", "arguments"],
  ["mcp_call", "arguments"],
  ["custom_tool_call", "input"],
  ["code_interpreter_call", "code"],
]);

export const hasJsonArguments = (type: string): boolean => textFieldsOfCalls.get(type) === "arguments";
/** Whether the item is a call whose text streams, and which may begin only with the first of this text. */
export const hasStreamedText = (type: string): boolean => textFieldsOfCalls.has(type) || type === "apply_patch_call";

/** Whether the item's texts are parts, which clients join over several items. */
export const hasTextParts = (type: string): boolean => type === "message" || type === "reasoning";

/** Edits one text. `part` is the part with the text; empty for a text that is not a part. */
export type EditText = (
  key: TextKey,
  text: string,
  part: PartJson,
) => { readonly text: string; readonly part?: object };

/** The item, with every text that can stream edited. */
export function editTexts(item: OutputItem, edit: EditText): OutputItem {
  if (item.type === "message") return { ...item, ...editParts("content", item, edit) };
  if (item.type === "reasoning")
    return { ...item, ...editParts("summary", item, edit), ...editParts("content", item, edit) };
  const operation = item["operation"] as { readonly diff?: unknown } | undefined;
  if (item.type === "apply_patch_call" && typeof operation?.diff === "string") {
    return { ...item, operation: { ...operation, diff: edit("arguments.delta 0", operation.diff, {}).text } };
  }
  const field = textFieldsOfCalls.get(item.type);
  const text = field === undefined ? undefined : item[field];
  if (field === undefined || typeof text !== "string") return item;
  return { ...item, [field]: edit("arguments.delta 0", text, {}).text };
}

/** A text of an item that can stream. `part` is the part with the text; empty for a text that is not a part. */
export interface ItemText {
  readonly key: TextKey;
  readonly text: string;
  readonly part: PartJson;
}

/** All texts of the item that can stream, in order. */
export function listTexts(item: OutputItem): readonly ItemText[] {
  const texts: ItemText[] = [];
  editTexts(item, (key, text, part) => {
    texts.push({ key, text, part });
    return { text };
  });
  return texts;
}

function editParts(field: "summary" | "content", item: OutputItem, edit: EditText): object {
  const list: unknown = item[field];
  if (!Array.isArray(list)) return {};
  // The list comes from the provider, and its entries may be of any type.
  return { [field]: list.map((part: unknown, index) => (isObject(part) ? editPart(part, index, edit) : part)) };
}

function editPart(part: PartJson, index: number, edit: EditText): PartJson {
  const [event, field] = textFieldsOfParts.get(part.type) ?? [];
  if (event === undefined || field === undefined) return part;
  const text = part[field];
  if (typeof text !== "string") return part;
  const changed = edit(`${event} ${index}`, text, part);
  return { ...part, ...changed.part, [field]: changed.text };
}

const outputText = ["output_text", ["text.delta", "text"]] as const;

/** An empty part of the type to which these deltas belong. */
export function buildEmptyPart(key: TextKey): PartJson {
  const [type, [, field]] = [...textFieldsOfParts].find(([, [event]]) => key.startsWith(`${event} `)) ?? outputText;
  return {
    type,
    [field]: "",
    ...(type === "output_text" && { annotations: [], logprobs: [] }),
  };
}
