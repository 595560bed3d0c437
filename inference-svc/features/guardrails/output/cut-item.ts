/** Builds an incomplete item from the texts of it that were delivered, for an answer cut. */
import type { OutputItem } from "../../../turn/turn.ts";
import { type TextKey, hasStreamedText, editTexts, buildEmptyPart } from "../../../turn/item-texts.ts";

/** A part of an item with its delivered text. */
export interface DeliveredPart {
  readonly key: TextKey;
  readonly delivered: string;
}

/** Status of a cut item for item types that have no status `incomplete`. */
const statusWhenCut: ReadonlyMap<string, string> = new Map([
  ["web_search_call", "failed"],
  ["file_search_call", "failed"],
  ["image_generation_call", "failed"],
  ["apply_patch_call", "in_progress"],
]);

/**
 * @param start the item as it began
 * @param parts parts with delivered text; others may be left out
 * @param annotations delivered annotations by part number
 */
export function buildCutItem(
  start: OutputItem,
  parts: readonly DeliveredPart[],
  annotations: ReadonlyMap<number, readonly unknown[]> | undefined,
): OutputItem {
  const item = { ...start, status: statusWhenCut.get(start.type) ?? "incomplete" };
  const shown = parts.filter((part) => part.delivered !== "");
  if (hasStreamedText(start.type)) return editTexts(item, () => ({ text: shown[0]?.delivered ?? "" }));
  if (start.type !== "message" && start.type !== "reasoning") return item;
  const { summary, content } = buildPartLists(shown, annotations);
  return start.type === "reasoning" ? { ...item, summary, content } : { ...item, content };
}

function buildPartLists(
  shown: readonly DeliveredPart[],
  annotations: ReadonlyMap<number, readonly unknown[]> | undefined,
) {
  const summary: object[] = [];
  const content: object[] = [];
  for (const { key, delivered: text } of shown) {
    const list = key.startsWith("summary") ? summary : content;
    const at = Number(key.split(" ")[1]);
    while (list.length < at) list.push(buildEmptyPart("text.delta 0"));
    const pointing = annotations?.get(at);
    const empty = buildEmptyPart(key);
    const field = "refusal" in empty ? "refusal" : "text";
    list[at] = { ...empty, [field]: text, ...(pointing && "annotations" in empty && { annotations: pointing }) };
  }
  return { summary, content };
}
