/**
 * Items that several requests share, because a conversation repeats them. They are frozen: code that changes items
 * copies them first, and an attempt to change a shared item fails its request, instead of affecting others.
 */
import type { InputItem } from "../request.ts";

/** Results computed from a shared item. */
export interface ItemMemo {
  readonly item: InputItem;
  /** Bytes of text a model reads; undefined until they are counted, and for an item with media. */
  textBytes: number | undefined;
}

/**
 * Key of an item's property with its memo. In a WeakMap, keys survive young garbage collections, each of which then
 * took twice as long (Node 20). Copies of an item have no memo, because a memo is valid only for its own item.
 */
const memoKey = Symbol("memo");
type MarkedItem = InputItem & { [memoKey]?: ItemMemo };

/** The memo of a shared item. @returns undefined for an item of a single request */
export function memoOf(item: MarkedItem): ItemMemo | undefined {
  const memo = item[memoKey];
  return memo?.item === item ? memo : undefined;
}

export const isShared = (item: InputItem): boolean => memoOf(item) !== undefined;

export function shareItem(item: MarkedItem): void {
  item[memoKey] = { item, textBytes: undefined };
  freeze(item);
}

/** @param value a JSON value nested no deeper than scanned JSON may be */
function freeze(value: object): void {
  Object.freeze(value);
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    if (typeof member === "object" && member !== null) freeze(member);
  }
}

/** Types of items a conversation repeats. */
const shareableTypes: ReadonlySet<string> = new Set([
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "reasoning",
]);

/** Whether an item may be shared. Items with files or pictures may not: their parts are recognized by identity elsewhere, and are large. */
export const isShareable = ({ type, content, output }: InputItem): boolean =>
  shareableTypes.has(type) && holdsText(content) && holdsText(output);

function holdsText(parts: unknown): boolean {
  if (!Array.isArray(parts)) return typeof parts !== "object" || parts === null;
  for (const part of parts as readonly { readonly type?: unknown }[]) {
    const { type } = part;
    if (type !== "input_text" && type !== "output_text" && type !== "refusal" && type !== "reasoning_text")
      return false;
  }
  return true;
}

/** The items with copies in place of shared ones, so they can be changed; the same list when none is shared. */
export function copySharedItems(items: readonly InputItem[]): readonly InputItem[] {
  return items.some(isShared) ? items.map((item) => (isShared(item) ? (copyOf(item) as InputItem) : item)) : items;
}

const likeAssigned = { enumerable: true, writable: true, configurable: true };

/** Copies a JSON value nested no deeper than scanned JSON may be. */
function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const copy: Record<string, unknown> = {};
  for (const name in value) {
    const member = copyOf((value as Record<string, unknown>)[name]);
    // An assignment to this name would set the prototype, and hide the member from guardrails.
    if (name === "__proto__") Object.defineProperty(copy, name, { value: member, ...likeAssigned });
    else copy[name] = member;
  }
  return copy;
}
