/**
 * Puts the parts of an item in order. Clients and guardrails take a part for complete once the next begins, so deltas
 * of a later part wait while an earlier part may still grow.
 */
import type { TurnEvent } from "../../../turn/turn.ts";

/** The events of a part that waits. */
interface Held<Key> {
  readonly part: Key;
  readonly events: TurnEvent[];
}

export class PartSequence<Key> {
  readonly #emit: (event: TurnEvent) => void;
  /** The part started last. */
  #open: Key | undefined;
  /** Parts started before the open part; undefined as long as there is only one, as in most items. */
  #begun: Set<Key> | undefined;
  /** Parts that get no further deltas. */
  #closed: Set<Key> | undefined;
  /** Waiting parts in the order of their first events; absent in most items. */
  #held: Held<Key>[] | undefined;
  #heldParts: Map<Key, Held<Key>> | undefined;
  /** Number of waiting parts that have been released. */
  #released = 0;
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
      if (!this.#isFree) return this.#hold(part, event);
      this.#begin(part);
    }
    this.#emit(event);
  }

  /** Closes a part, which is complete, and releases the parts that waited for it. */
  close(part: Key): void {
    (this.#closed ??= new Set()).add(part);
    while (this.#hasHeld && this.#isFree) this.#next();
  }

  /** Whether another part may begin. */
  get #isFree(): boolean {
    return this.#open === undefined || this.#closed?.has(this.#open) === true;
  }

  /** Ends the item, and releases all parts that wait. */
  end(): void {
    while (this.#hasHeld) this.#next();
    this.#ended = true;
  }

  get #hasHeld(): boolean {
    return this.#held !== undefined && this.#released < this.#held.length;
  }

  #hold(part: Key, event: TurnEvent): void {
    const known = this.#heldParts?.get(part);
    if (known) return void known.events.push(event);
    const held = { part, events: [event] };
    (this.#held ??= []).push(held);
    (this.#heldParts ??= new Map()).set(part, held);
  }

  #next(): void {
    const held = this.#held?.[this.#released++];
    if (!held) return;
    this.#heldParts?.delete(held.part);
    this.#begin(held.part);
    for (const event of held.events) this.#emit(event);
  }

  #begin(part: Key): void {
    if (this.#open !== undefined) (this.#begun ??= new Set()).add(this.#open);
    this.#open = part;
  }
}
