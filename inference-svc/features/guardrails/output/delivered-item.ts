/** Builds a finished item from the texts of it that were delivered. */
import type { OutputItem } from "../../../turn/turn.ts";
import { keepAnnotations } from "./annotations.ts";
import type { TextPart } from "./text-part.ts";
import { type TextKey, editTexts } from "../../../turn/item-texts.ts";

/** Fields with the text of a reasoning item in a form that only the provider can read. */
const sealFields: readonly string[] = ["encrypted_content", "signature"];

type Parts = ReadonlyMap<TextKey, TextPart<TextKey>>;

/**
 * The encrypted text of redacted reasoning is left out, since the provider would read the redacted text from it.
 * @param cleaned the item with its streamed texts emptied and all other texts redacted
 * @param item the item as received from the provider
 * @param onDropped called for each field left out
 */
export function buildDeliveredItem(
  cleaned: OutputItem,
  item: OutputItem,
  parts: Parts,
  onDropped: (field: string) => void,
): OutputItem {
  const whole = fillTexts(cleaned, item, parts);
  const isRedacted = [...parts.values()].some(({ replacements }) => replacements.length > 0);
  if (!isRedacted || item.type !== "reasoning") return whole;
  const seals = sealFields.filter((field) => item[field] !== undefined && item[field] !== null);
  for (const field of seals) onDropped(field);
  return Object.fromEntries(Object.entries(whole).filter(([field]) => !seals.includes(field))) as OutputItem;
}

function fillTexts(cleaned: OutputItem, item: OutputItem, parts: Parts): OutputItem {
  const annotations = new Map<TextKey, unknown>();
  editTexts(item, (key, text, { annotations: list }) => {
    annotations.set(key, list);
    return { text };
  });
  return editTexts(cleaned, (key, _, { annotations: looked }) => {
    const part = parts.get(key);
    const kept = keepAnnotations(annotations.get(key), looked, part);
    return { text: part?.delivered ?? "", part: { ...(kept && { annotations: kept }) } };
  });
}
