/** A finished item with the texts that were delivered of it. */
import type { OutputItem } from "../../turn/turn.ts";
import { keptAnnotations } from "./annotations.ts";
import type { Part } from "./part.ts";
import { type TextKey, edited } from "./texts.ts";

/** Fields that say what a reasoning says, in a form that only the provider reads. */
const sealed: readonly string[] = ["encrypted_content", "signature"];

/** @param cleaned the item with other texts emptied and cleaned @param item as it came */
export function asDelivered(
  cleaned: OutputItem,
  item: OutputItem,
  parts: ReadonlyMap<TextKey, Part<TextKey>>,
): OutputItem {
  const annotations = new Map<TextKey, unknown>();
  edited(item, (key, text, { annotations: list }) => {
    annotations.set(key, list);
    return { text };
  });
  return edited(cleaned, (key, _, { annotations: looked }) => {
    const part = parts.get(key);
    const kept = keptAnnotations(annotations.get(key), looked, part);
    return { text: part?.shown ?? "", part: { ...(kept && { annotations: kept }) } };
  });
}

export const sealsOf = (item: OutputItem): readonly string[] =>
  sealed.filter((field) => item[field] !== undefined && item[field] !== null);

/** A reasoning of which something was redacted: its seal would tell it. */
export function withoutSeals(item: OutputItem): OutputItem {
  const seals = sealsOf(item);
  return Object.fromEntries(Object.entries(item).filter(([field]) => !seals.includes(field))) as OutputItem;
}
