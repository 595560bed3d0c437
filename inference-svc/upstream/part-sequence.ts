/**
 * Parts of an item one after the other: whoever reads along, clients and guardrails alike, takes a part for whole once the next one begins. What comes
 * of a later part while the one before it may still go on waits until that is over.
 */
import type { TurnEvent } from "../turn/turn.ts";

interface Held<Key> {
  readonly part: Key;
  readonly event: TurnEvent;
}

export class PartSequence<Key> {
  readonly #emit: (event: TurnEvent) => void;
  /** The last one that was begun. */
  #open: Key | undefined;
  readonly #begun = new Set<Key>();
  /** Nothing more is expected of them. */
  readonly #closed = new Set<Key>();
  #held: Held<Key>[] = [];
  #ended = false;

  constructor(emit: (event: TurnEvent) => void) {
    this.#emit = emit;
  }

  /** Whether there is still room for a text of it: neither has another part begun behind it, nor is the item whole. */
  takes(part: Key): boolean {
    return !this.#ended && (part === this.#open || !this.#begun.has(part));
  }

  take(part: Key, event: TurnEvent): void {
    if (this.#ended) return;
    if (part !== this.#open && this.takes(part)) {
      if (this.#open !== undefined && !this.#closed.has(this.#open)) {
        return void this.#held.push({ part, event });
      }
      this.#begin(part);
    }
    this.#emit(event);
  }

  /** The provider says that it is whole. */
  close(part: Key): void {
    this.#closed.add(part);
    while (this.#held.length > 0 && (this.#open === undefined || this.#closed.has(this.#open))) this.#next();
  }

  /** The item is whole. */
  end(): void {
    while (this.#held.length > 0) this.#next();
    this.#ended = true;
  }

  #next(): void {
    const [first] = this.#held;
    if (!first) return;
    const held = this.#held;
    this.#begin(first.part);
    this.#held = held.filter(({ part }) => part !== first.part);
    for (const { part, event } of held) if (part === first.part) this.#emit(event);
  }

  #begin(part: Key): void {
    this.#open = part;
    this.#begun.add(part);
  }
}
