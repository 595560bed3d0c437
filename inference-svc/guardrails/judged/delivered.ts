/** What of an answer was delivered, so that it can be ended as it stands. */
import type { OutputItem, TurnEvent, Usage } from "../../turn/turn.ts";
import { cutItem } from "../output/cut.ts";
import { type TextKey, keyOf } from "../output/texts.ts";

interface Begun {
  readonly start: OutputItem;
  readonly texts: Map<TextKey, string>;
  readonly annotations: Map<number, unknown[]>;
}

export class Delivered {
  /** By index; those that have not ended. */
  readonly #items = new Map<number, Begun>();

  note(events: readonly TurnEvent[]): void {
    for (const event of events) this.#note(event);
  }

  /** Ends what has begun, and the answer. */
  cut(usage: Usage | undefined): readonly TurnEvent[] {
    const ends = [...this.#items].map(([index, { start, texts, annotations }]): TurnEvent => {
      const parts = [...texts].map(([key, shown]) => ({ key, shown }));
      return { type: "item.end", index, item: cutItem(start, parts, annotations) };
    });
    return [...ends, { type: "end", outcome: { ...cutOutcome, ...(usage && { usage }) } }];
  }

  #note(event: TurnEvent): void {
    if (event.type === "item.start") {
      this.#items.set(event.index, { start: event.item, texts: new Map(), annotations: new Map() });
      return;
    }
    const begun = "index" in event && event.index !== undefined ? this.#items.get(event.index) : undefined;
    if (!begun) return;
    if (event.type === "item.end") this.#items.delete(event.index);
    else if (event.type === "annotation") {
      begun.annotations.set(event.part, [...(begun.annotations.get(event.part) ?? []), event.annotation]);
    } else if ("delta" in event) {
      const key = keyOf(event);
      begun.texts.set(key, (begun.texts.get(key) ?? "") + event.delta);
    }
  }
}

/** By a filter, in the middle of it. */
const cutOutcome = { status: "incomplete", reason: "content_filter", serviceTier: "default" } as const;
