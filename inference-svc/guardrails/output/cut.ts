/** What was delivered of an item that will not be whole. */
import type { OutputItem } from "../../turn/turn.ts";
import { type TextKey, carriesText, edited, emptyPart } from "./texts.ts";

/** A part with the text that was delivered of it. */
export interface ShownPart {
  readonly key: TextKey;
  readonly shown: string;
}

/** Kinds of items whose statuses do not include `incomplete`. */
const unfinished: ReadonlyMap<string, string> = new Map([
  ["web_search_call", "failed"],
  ["file_search_call", "failed"],
  ["image_generation_call", "failed"],
  ["apply_patch_call", "in_progress"],
]);

/**
 * @param start as it began
 * @param parts those of which nothing was delivered may be left out
 * @param annotations delivered ones, by part
 */
export function cutItem(
  start: OutputItem,
  parts: readonly ShownPart[],
  annotations: ReadonlyMap<number, readonly unknown[]>,
): OutputItem {
  const item = { ...start, status: unfinished.get(start.type) ?? "incomplete" };
  const shown = parts.filter((part) => part.shown !== "");
  if (carriesText(start.type)) return edited(item, () => ({ text: shown[0]?.shown ?? "" }));
  if (start.type !== "message" && start.type !== "reasoning") return item;
  const { summary, content } = listsOf(shown, annotations);
  return start.type === "reasoning" ? { ...item, summary, content } : { ...item, content };
}

function listsOf(shown: readonly ShownPart[], annotations: ReadonlyMap<number, readonly unknown[]>) {
  const summary: object[] = [];
  const content: object[] = [];
  for (const { key, shown: text } of shown) {
    const list = key.startsWith("summary") ? summary : content;
    const at = Number(key.split(" ")[1]);
    while (list.length < at) list.push(emptyPart("text.delta 0"));
    const pointing = annotations.get(at);
    const empty = emptyPart(key);
    const field = "refusal" in empty ? "refusal" : "text";
    list[at] = { ...empty, [field]: text, ...(pointing && "annotations" in empty && { annotations: pointing }) };
  }
  return { summary, content };
}
