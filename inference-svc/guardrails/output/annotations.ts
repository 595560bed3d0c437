/** Annotations of an item on their way out: each behind the text that it points at, and none that points at something redacted. */
import { codePointLength } from "@sluice/proto/runtime/validation/text.js";
import { moved, pointsAt } from "../../turn/replaced.ts";
import type { TurnEvent } from "../../turn/turn.ts";
import type { Part } from "./part.ts";
import type { TextKey } from "./texts.ts";

export type AnnotationEvent = Extract<TurnEvent, { readonly type: "annotation" }>;

interface Surroundings {
  partOf(key: TextKey): Part | undefined;
  /** Calls back once the text that came before is delivered. */
  note(pass: () => void): void;
  pass(event: AnnotationEvent): void;
}

const keyOf = ({ part }: AnnotationEvent): TextKey => `text.delta ${part}`;

export class Annotations {
  readonly #item: Surroundings;
  /** Held annotations by the number of their part. */
  readonly delivered = new Map<number, unknown[]>();
  /** Annotations that came before the end of the text that they point at: whether it is delivered is not known yet. */
  #early: readonly AnnotationEvent[] = [];

  constructor(item: Surroundings) {
    this.#item = item;
  }

  take(event: AnnotationEvent): void {
    // Annotations of one part stay in their order.
    const waits = this.#isEarly(event) || this.#early.some(({ part }) => part === event.part);
    if (waits) this.#early = [...this.#early, event];
    else this.#note(event);
  }

  /** The text goes on with this part, so that all others are over; without one, all are. */
  goOn(key?: TextKey): void {
    if (this.#early.length === 0) return;
    const early = this.#early;
    this.#early = early.filter((event) => key === keyOf(event));
    for (const event of early) if (key !== keyOf(event)) this.#note(event);
  }

  #isEarly(event: AnnotationEvent): boolean {
    const said = this.#item.partOf(keyOf(event))?.raw ?? "";
    return pointsAt(event.annotation) > codePointLength(said);
  }

  #note(event: AnnotationEvent): void {
    this.#item.note(() => this.#pass(event));
  }

  #pass(event: AnnotationEvent): void {
    const part = this.#item.partOf(keyOf(event));
    const annotation = part ? moved(event.annotation, part.raw, part.replaced) : event.annotation;
    if (annotation === undefined) return;
    this.delivered.set(event.part, [...(this.delivered.get(event.part) ?? []), annotation]);
    this.#item.pass({ ...event, annotation });
  }
}

/** The annotations of a finished part, without those in which something was redacted, and those that point at what was. */
export function keptAnnotations(before: unknown, looked: unknown, part: Part | undefined): unknown[] | undefined {
  if (!Array.isArray(before) || !Array.isArray(looked)) return undefined;
  const clean = before.filter((annotation, index) => annotation === looked[index]) as unknown[];
  if (!part) return clean;
  return clean.map((each) => moved(each, part.raw, part.replaced)).filter((each) => each !== undefined);
}
