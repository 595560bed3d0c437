/** Where the texts of an output item stand that have deltas of their own. */
import { isObject } from "@sluice/proto/runtime/validation/fields.js";
import type { OutputItem, TurnEvent } from "../../turn/turn.ts";

export type TextEvent = Extract<TurnEvent, { readonly delta: string }>;

/** Type and part of the deltas. */
export type TextKey = `${TextEvent["type"]} ${number}`;

export const keyOf = (event: TextEvent): TextKey => `${event.type} ${"part" in event ? event.part : 0}`;

export function deltaOf(key: TextKey, index: number, delta: string): TextEvent {
  const [type, part] = key.split(" ") as [TextEvent["type"], string];
  return type === "arguments.delta" ? { type, index, delta } : { type, index, part: Number(part), delta };
}

interface PartJson {
  readonly type?: unknown;
  readonly [field: string]: unknown;
}

/** By the type of a part: the event of its deltas, and the field of its text. */
const partTexts: ReadonlyMap<unknown, readonly [TextEvent["type"], "text" | "refusal"]> = new Map([
  ["output_text", ["text.delta", "text"]],
  ["refusal", ["refusal.delta", "refusal"]],
  ["reasoning_text", ["reasoning.delta", "text"]],
  ["summary_text", ["summary.delta", "text"]],
]);

/** By the type of a call, the field of the text that it carries. */
const callTexts: ReadonlyMap<string, string> = new Map([
  ["function_call", "arguments"],
  ["mcp_call", "arguments"],
  ["custom_tool_call", "input"],
  ["code_interpreter_call", "code"],
]);

export const carriesJson = (type: string): boolean => callTexts.get(type) === "arguments";
/** Its text streams, and it is shown with the first of it. */
export const carriesText = (type: string): boolean => callTexts.has(type) || type === "apply_patch_call";

/** Its texts are parts, which clients join with those of other items. */
export const hasParts = (type: string): boolean => type === "message" || type === "reasoning";

/** What is done to one text; its part, when it has one. */
export type Edit = (key: TextKey, text: string, part: PartJson) => { readonly text: string; readonly part?: object };

/** The item with every such text as `edit` gives it back. */
export function edited(item: OutputItem, edit: Edit): OutputItem {
  if (item.type === "message") return { ...item, ...partsOf("content", item, edit) };
  if (item.type === "reasoning")
    return { ...item, ...partsOf("summary", item, edit), ...partsOf("content", item, edit) };
  const operation = item["operation"] as { readonly diff?: unknown } | undefined;
  if (item.type === "apply_patch_call" && typeof operation?.diff === "string") {
    return { ...item, operation: { ...operation, diff: edit("arguments.delta 0", operation.diff, {}).text } };
  }
  const field = callTexts.get(item.type);
  const text = field === undefined ? undefined : item[field];
  if (field === undefined || typeof text !== "string") return item;
  return { ...item, [field]: edit("arguments.delta 0", text, {}).text };
}

function partsOf(field: "summary" | "content", item: OutputItem, edit: Edit): object {
  const list: unknown = item[field];
  if (!Array.isArray(list)) return {};
  // A provider may put anything into the list.
  return { [field]: list.map((part: unknown, index) => (isObject(part) ? editedPart(part, index, edit) : part)) };
}

function editedPart(part: PartJson, index: number, edit: Edit): PartJson {
  const [event, field] = partTexts.get(part.type) ?? [];
  if (event === undefined || field === undefined) return part;
  const text = part[field];
  if (typeof text !== "string") return part;
  const changed = edit(`${event} ${index}`, text, part);
  return { ...part, ...changed.part, [field]: changed.text };
}

const outputText = ["output_text", ["text.delta", "text"]] as const;

/** An empty part of the kind that the deltas belong to. */
export function emptyPart(key: TextKey): PartJson {
  const [type, [, field]] = [...partTexts].find(([, [event]]) => key.startsWith(`${event} `)) ?? outputText;
  return {
    type,
    [field]: "",
    ...(type === "output_text" && { annotations: [], logprobs: [] }),
  };
}
