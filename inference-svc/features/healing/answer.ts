/** Reads and replaces the text of an answer for which the client requested JSON. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import { type Region, moveAnnotation } from "../../turn/replacements.ts";
import type { OutputItem, TurnEvent } from "../../turn/turn.ts";

type Ended = Extract<TurnEvent, { readonly type: "item.end" }>;

interface TextPart {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations?: unknown;
  readonly logprobs?: unknown;
}

/** The end event of the last item, if it is a message. A message before calls only announces them, so it is no answer. */
export function answerIn(events: readonly TurnEvent[]): Ended | undefined {
  const last = events.findLast((event): event is Ended => event.type === "item.end");
  return last?.item.type === "message" ? last : undefined;
}

const partsOf = ({ content }: OutputItem): readonly unknown[] => (Array.isArray(content) ? content : []);

const isText = (part: unknown): part is TextPart =>
  isObject(part) && part["type"] === "output_text" && typeof part["text"] === "string";

/** The text of all parts as clients read it, joined. @returns undefined when there is none */
export function textOf(item: OutputItem): string | undefined {
  const text = partsOf(item)
    .filter(isText)
    .map((part) => part.text)
    .join("");
  return text.trim() === "" ? undefined : text;
}

/** Replaces the text of an item: its first part gets all of the text. Log probabilities are dropped, and so are annotations of replaced text. */
export function replaceAnswerText(item: OutputItem, text: string, regions: readonly Region[]): OutputItem {
  const parts = partsOf(item);
  const before = parts.filter(isText);
  const textBefore = before.map((part) => part.text).join("");
  const annotations = annotationsOf(before).flatMap(
    (annotation) => moveAnnotation(annotation, textBefore, regions) ?? [],
  );
  const [first] = before;
  const content = parts.flatMap((part) => {
    if (part === first) return [{ ...first, text, annotations, logprobs: [] }];
    return isText(part) ? [] : [part];
  });
  return { ...item, content };
}

/** The annotations of all parts, with offsets into the joined text. */
function annotationsOf(parts: readonly TextPart[]): readonly unknown[] {
  let before = 0;
  return parts.flatMap(({ text, annotations }) => {
    const offset = before;
    before += codePointLength(text);
    return Array.isArray(annotations) ? annotations.map((annotation: unknown) => shifted(annotation, offset)) : [];
  });
}

function shifted(annotation: unknown, by: number): unknown {
  if (by === 0 || !isObject(annotation)) return annotation;
  const { start_index: start, end_index: end } = annotation;
  if (typeof start !== "number" || typeof end !== "number") return annotation;
  return { ...annotation, start_index: start + by, end_index: end + by };
}
