/** A part of a message or of a reasoning item while it streams, and the names of its events. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { ItemJson } from "./call-text.ts";
import { eventHead } from "./event-text.ts";

export type PartKind = "output_text" | "refusal" | "reasoning_text" | "summary_text";

export class Part {
  readonly kind: PartKind;
  readonly index: number;
  /** JSON members with the position of the part, at the start of all its payloads. */
  readonly position: string;
  /** Payload of a delta event up to the delta itself, with a leading comma. It is joined once per part, since each delta contains it. */
  readonly beforeDelta: string;
  text = "";
  readonly annotations: unknown[] = [];
  readonly logprobs: unknown[] = [];

  /** @param address JSON members with the id and index of the item */
  constructor(kind: PartKind, index: number, address: string) {
    this.kind = kind;
    this.index = index;
    this.position = `${address},"${kind === "summary_text" ? "summary_index" : "content_index"}":${index}`;
    this.beforeDelta = [",", this.position, ',"delta":'].join("");
  }
}

/** First parts of the event types `<stem>.delta` and `<stem>.done`, by kind of part. */
export const textEventStems: Readonly<Record<PartKind, string>> = {
  output_text: "response.output_text",
  refusal: "response.refusal",
  reasoning_text: "response.reasoning_text",
  summary_text: "response.reasoning_summary_text",
};

/** Beginning of the event `<stem>.delta`, by kind of part. */
export const deltaEventHeads: Readonly<Record<PartKind, string>> = {
  output_text: eventHead(`${textEventStems.output_text}.delta`),
  refusal: eventHead(`${textEventStems.refusal}.delta`),
  reasoning_text: eventHead(`${textEventStems.reasoning_text}.delta`),
  summary_text: eventHead(`${textEventStems.summary_text}.delta`),
};

export const isPartKind = (type: unknown): type is PartKind => Object.hasOwn(textEventStems, String(type));

/**
 * Types of items whose fields `content` and `summary` are lists of parts. In other items these fields may have any form, such as the text of a page.
 */
const withParts = { content: ["message", "reasoning"], summary: ["reasoning"] };

/** The parts of a finished item. Entries that are not objects are left out, since no event can contain them. */
export function partsOfItem(
  item: ItemJson,
  field: "content" | "summary",
): readonly Readonly<Record<string, unknown>>[] {
  const list = withParts[field].includes(item.type) ? item[field] : undefined;
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** The text of a finished part. */
export function textOfPart({ refusal, text }: Readonly<Record<string, unknown>>): string {
  if (typeof refusal === "string") return refusal;
  return typeof text === "string" ? text : "";
}

/** First part of the event types `<stem>.added` and `<stem>.done`. */
export const partEventStem = (kind: PartKind): string =>
  kind === "summary_text" ? "response.reasoning_summary_part" : "response.content_part";

/** The part in the form in which its item contains it. */
export function partValue(part: Part): Readonly<Record<string, unknown>> {
  if (part.kind === "refusal") return { type: "refusal", refusal: part.text };
  if (part.kind !== "output_text") return { type: part.kind, text: part.text };
  return { type: "output_text", text: part.text, annotations: part.annotations, logprobs: part.logprobs };
}

/** Payload of the event `<stem>.done`. */
export function textDonePayload(part: Part): string {
  const text = JSON.stringify(part.text);
  if (part.kind === "output_text") return `${part.position},"text":${text},"logprobs":${JSON.stringify(part.logprobs)}`;
  return `${part.position},"${part.kind === "refusal" ? "refusal" : "text"}":${text}`;
}
