/** From places in a form of a text back to places in the text. */
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { Pauses } from "../../turn/breath.ts";
import type { Mapped } from "./mapped.ts";
import type { View } from "./views.ts";

/**
 * The same places in the text that the view is of. The view is made again: to keep the way back of all that is looked at would cost many
 * times the text.
 * @param found from left to right, without overlaps, by whoever found them
 */
export function* located<Finder>(
  view: View,
  found: ReadonlyMap<Finder, readonly Span[]>,
): Pauses<ReadonlyMap<Finder, readonly Span[]>> {
  const ways = new Map([...found].map(([finder, spans]) => [finder, new WayBack(spans)]));
  let at = 0;
  for (const piece of view()) {
    for (const way of ways.values()) way.walk(piece, at);
    at += piece.text.length;
    yield;
  }
  return new Map([...ways].map(([finder, way]) => [finder, way.reached]));
}

class WayBack {
  readonly reached: Span[] = [];
  readonly #spans: readonly Span[];
  #next = 0;
  /** In the text, of the next span, once its first unit has been seen. */
  #start: number | undefined;

  constructor(spans: readonly Span[]) {
    this.#spans = spans;
  }

  /** @param at where the piece begins in its form */
  walk(piece: Mapped, at: number): void {
    const end = at + piece.text.length;
    for (let span = this.#spans[this.#next]; span; span = this.#spans[this.#next]) {
      if (span.start >= end) return;
      this.#start ??= piece.sourceOf(span.start - at, span.start - at + 1).start;
      if (span.end > end) return;
      this.reached.push({ start: this.#start, end: piece.sourceOf(span.end - at - 1, span.end - at).end });
      this.#start = undefined;
      this.#next++;
    }
  }
}
