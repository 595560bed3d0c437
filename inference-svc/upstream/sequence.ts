/**
 * Items one after the other: clients follow a stream in which a message or a thought is over before the next item begins; only calls run
 * beside each other. A provider that does otherwise is not corrected by leaving something out: what comes too early waits for its turn.
 */
import type { TurnEvent } from "../turn/turn.ts";
import type { Emit } from "./output.ts";

const alone: ReadonlySet<string> = new Set(["message", "reasoning"]);

/** @returns takes the events of items, and gives them in an order that clients can follow; once all items have ended, nothing waits */
export function inSequence(emit: Emit): Emit {
  const sequence = new Sequence(emit);
  return (event) => sequence.take(event);
}

class Sequence {
  readonly #emit: Emit;
  /** Type by index, of the items that clients know to be open. */
  readonly #open = new Map<number, string>();
  #begun = 0;
  #held: TurnEvent[] = [];

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  take(event: TurnEvent): void {
    if (!this.#passes(event)) return void this.#held.push(event);
    this.#pass(event);
    if (event.type === "item.end") while (this.#held.length > 0 && this.#release());
  }

  #passes(event: TurnEvent): boolean {
    if (event.type === "item.start") return event.index === this.#begun && this.#fits(event.item.type);
    return !("index" in event) || event.index === undefined || event.index < this.#begun;
  }

  #fits(type: string): boolean {
    if (this.#open.size === 0) return true;
    if (alone.has(type)) return false;
    for (const other of this.#open.values()) if (alone.has(other)) return false;
    return true;
  }

  #pass(event: TurnEvent): void {
    if (event.type === "item.start") {
      this.#begun++;
      this.#open.set(event.index, event.item.type);
    } else if (event.type === "item.end") this.#open.delete(event.index);
    this.#emit(event);
  }

  /** @returns whether anything could go on: it may have made room for what had to wait before it */
  #release(): boolean {
    const held = this.#held;
    this.#held = held.filter((event) => {
      const passes = this.#passes(event);
      if (passes) this.#pass(event);
      return !passes;
    });
    return this.#held.length < held.length;
  }
}
