/** One part of a message or of a reasoning item while it streams, and the words of its events. */
import { isObject } from "@sluice/proto/runtime/validation/fields.js";
import type { ItemJson } from "./call-text.ts";

export type PartKind = "output_text" | "refusal" | "reasoning_text" | "summary_text";

export interface Part {
  readonly kind: PartKind;
  readonly index: number;
  /** Between braces: where the part is; the beginning of all its payloads. */
  readonly position: string;
  text: string;
  readonly annotations: unknown[];
  readonly logprobs: unknown[];
}

/** @param address of the item, between braces */
export const openPart = (kind: PartKind, index: number, address: string): Part => ({
  kind,
  index,
  position: `${address},"${kind === "summary_text" ? "summary_index" : "content_index"}":${index}`,
  text: "",
  annotations: [],
  logprobs: [],
});

/** Of `<stem>.delta` and `<stem>.done`. */
export const textStem: Readonly<Record<PartKind, string>> = {
  output_text: "response.output_text",
  refusal: "response.refusal",
  reasoning_text: "response.reasoning_text",
  summary_text: "response.reasoning_summary_text",
};

export const isPartKind = (type: unknown): type is PartKind => Object.hasOwn(textStem, String(type));

/** Items with parts that stream; in any other item the field is one like the others, of any shape, such as the text of a web page. */
const withParts = { content: ["message", "reasoning"], summary: ["reasoning"] };

/** The parts of a finished item. A member that is no object is not shown: no event can carry it. */
export function partsIn(item: ItemJson, field: "content" | "summary"): readonly Readonly<Record<string, unknown>>[] {
  const list = withParts[field].includes(item.type) ? item[field] : undefined;
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** The text of a finished part. */
export const textIn = ({ refusal, text }: Readonly<Record<string, unknown>>): string =>
  [refusal, text].find((value) => typeof value === "string") ?? "";

/** Of `<stem>.added` and `<stem>.done`. */
export const partStem = (kind: PartKind): string =>
  kind === "summary_text" ? "response.reasoning_summary_part" : "response.content_part";

/** As the item holds it. */
export function partValue(part: Part): Readonly<Record<string, unknown>> {
  if (part.kind === "refusal") return { type: "refusal", refusal: part.text };
  if (part.kind !== "output_text") return { type: part.kind, text: part.text };
  return { type: "output_text", text: part.text, annotations: part.annotations, logprobs: part.logprobs };
}

/** Payload of `<stem>.done`. */
export function textDone(part: Part): string {
  const text = JSON.stringify(part.text);
  if (part.kind === "output_text") return `${part.position},"text":${text},"logprobs":${JSON.stringify(part.logprobs)}`;
  return `${part.position},"${part.kind === "refusal" ? "refusal" : "text"}":${text}`;
}
