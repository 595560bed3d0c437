/**
 * Puts the parts of an item in order. Clients and guardrails take a part for complete once the next begins, so deltas
 * of a later part wait while an earlier part may still grow.
 */
import type { TurnEvent } from "../../../turn/turn.ts";

interface Held<Key> {
  readonly part: Key;
  readonly event: TurnEvent;
}

export class PartSequence<Key> {
  readonly #emit: (event: TurnEvent) => void;
  /** The part started last. */
  #open: Key | undefined;
  /** Parts started before the open part; undefined as long as there is only one, as in most items. */
  #begun: Set<Key> | undefined;
  /** Parts that get no further deltas. */
  #closed: Set<Key> | undefined;
  #held: Held<Key>[] = [];
  #ended = false;

  constructor(emit: (event: TurnEvent) => void) {
    this.#emit = emit;
  }

  /** Whether a part may still grow: no other part has begun after it, and the item has not ended. */
  takes(part: Key): boolean {
    return !this.#ended && (part === this.#open || this.#begun?.has(part) !== true);
  }

  take(part: Key, event: TurnEvent): void {
    if (this.#ended) return;
    if (part !== this.#open && this.takes(part)) {
      if (!this.#isFree) return void this.#held.push({ part, event });
      this.#begin(part);
    }
    this.#emit(event);
  }

  /** Closes a part, which is complete, and releases the parts that waited for it. */
  close(part: Key): void {
    (this.#closed ??= new Set()).add(part);
    while (this.#held.length > 0 && this.#isFree) this.#next();
  }

  /** Whether another part may begin. */
  get #isFree(): boolean {
    return this.#open === undefined || this.#closed?.has(this.#open) === true;
  }

  /** Ends the item, and releases all parts that wait. */
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
    if (this.#open !== undefined) (this.#begun ??= new Set()).add(this.#open);
    this.#open = part;
  }
}
