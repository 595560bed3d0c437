/** Delivers an item's annotations after the text to which they refer, and drops those that refer to redacted text. */
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import { moveAnnotation, annotationEnd } from "../../../turn/replacements.ts";
import type { TurnEvent } from "../../../turn/turn.ts";
import type { TextPart } from "./text-part.ts";
import type { TextKey } from "../../../turn/item-texts.ts";

export type AnnotationEvent = Extract<TurnEvent, { readonly type: "annotation" }>;

interface AnnotationHost {
  partOf(key: TextKey): TextPart | undefined;
  /** Calls the function back once all text pushed so far is delivered. */
  afterDelivery(callback: () => void): void;
  deliver(event: AnnotationEvent): void;
}

const textKeyOf = ({ part }: AnnotationEvent): TextKey => `text.delta ${part}`;

export class Annotations {
  readonly #item: AnnotationHost;
  /** Delivered annotations by part number. */
  readonly delivered = new Map<number, unknown[]>();
  /** Annotations of text that has not been received yet, so it may still be redacted. */
  #pending: readonly AnnotationEvent[] = [];

  constructor(item: AnnotationHost) {
    this.#item = item;
  }

  take(event: AnnotationEvent): void {
    // An annotation also waits behind an earlier one of its part, to keep their order.
    const waits = this.#isAheadOfText(event) || this.#pending.some(({ part }) => part === event.part);
    if (waits) this.#pending = [...this.#pending, event];
    else this.#deliverInOrder(event);
  }

  /**
   * Delivers annotations that no longer wait. @param key part that receives text, so all other parts are complete;
   * absent when every part is complete
   */
  continueAt(key?: TextKey): void {
    if (this.#pending.length === 0) return;
    const early = this.#pending;
    this.#pending = early.filter((event) => key === textKeyOf(event));
    for (const event of early) if (key !== textKeyOf(event)) this.#deliverInOrder(event);
  }

  #isAheadOfText(event: AnnotationEvent): boolean {
    const text = this.#item.partOf(textKeyOf(event))?.raw ?? "";
    return annotationEnd(event.annotation) > codePointLength(text);
  }

  #deliverInOrder(event: AnnotationEvent): void {
    this.#item.afterDelivery(() => this.#deliver(event));
  }

  #deliver(event: AnnotationEvent): void {
    const part = this.#item.partOf(textKeyOf(event));
    const annotation = part ? moveAnnotation(event.annotation, part.raw, part.replacements) : event.annotation;
    if (annotation === undefined) return;
    this.delivered.set(event.part, [...(this.delivered.get(event.part) ?? []), annotation]);
    this.#item.deliver({ ...event, annotation });
  }
}

/** The annotations of a finished part, without those that contain redacted text or refer to it. */
export function keepAnnotations(before: unknown, redacted: unknown, part: TextPart | undefined): unknown[] | undefined {
  if (!Array.isArray(before) || !Array.isArray(redacted)) return undefined;
  const clean = before.filter((annotation, index) => annotation === redacted[index]) as unknown[];
  if (!part) return clean;
  return clean.map((each) => moveAnnotation(each, part.raw, part.replacements)).filter((each) => each !== undefined);
}
