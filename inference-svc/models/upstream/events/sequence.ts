/**
 * Puts items in order. Clients expect a message or reasoning to end before the next item begins. They expect the same
 * of calls they answer: SDKs of several languages run a call, or parse its arguments, once the next call begins. Only
 * server tools may overlap. Events of an item that starts too early wait, so nothing is lost.
 */
import type { TurnEvent } from "../../../turn/turn.ts";
import type { Emit } from "./item-writer.ts";

const sequentialTypes: ReadonlySet<string> = new Set(["message", "reasoning"]);
/** Types of calls of which only one may be open at a time; some servers interleave the arguments of several. */
const calls: ReadonlySet<string> = new Set(["function_call", "custom_tool_call"]);

/** @returns a function that takes the events of items, and emits them in order; once all items have ended, no event waits */
export const orderItems = (emit: Emit): Emit => new Sequence(emit).take;

class Sequence {
  readonly #emit: Emit;
  /** Types of the items that are open for clients, by index. */
  readonly #types: (string | undefined)[] = [];
  #open = 0;
  #openAlone = 0;
  #openCalls = 0;
  #begun = 0;
  /** Events of items that have not begun for clients, by their index; absent in nearly all answers. */
  #held: Map<number, TurnEvent[]> | undefined;

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  readonly take = (event: TurnEvent): void => {
    const index = "index" in event ? event.index : undefined;
    const waits =
      index !== undefined && index >= this.#begun && !(event.type === "item.start" && this.#mayBegin(event));
    if (waits) return this.#hold(index, event);
    this.#pass(event);
    if (event.type === "item.end" && this.#held) this.#release(this.#held);
  };

  #hold(index: number, event: TurnEvent): void {
    this.#held ??= new Map();
    const events = this.#held.get(index);
    if (events) events.push(event);
    else this.#held.set(index, [event]);
  }

  #mayBegin({ index, item: { type } }: Extract<TurnEvent, { readonly type: "item.start" }>): boolean {
    if (index !== this.#begun) return false;
    if (this.#open === 0) return true;
    return this.#openAlone === 0 && !sequentialTypes.has(type) && !(this.#openCalls > 0 && calls.has(type));
  }

  #pass(event: TurnEvent): void {
    if (event.type === "item.start") {
      this.#begun++;
      this.#types[event.index] = event.item.type;
      this.#count(event.item.type, 1);
    } else if (event.type === "item.end") {
      const type = this.#types[event.index];
      this.#types[event.index] = undefined;
      if (type !== undefined) this.#count(type, -1);
    }
    this.#emit(event);
  }

  #count(type: string, change: 1 | -1): void {
    this.#open += change;
    if (sequentialTypes.has(type)) this.#openAlone += change;
    else if (calls.has(type)) this.#openCalls += change;
  }

  /** Passes on the items whose turn has come: the start of an item is the first of its events. */
  #release(held: Map<number, TurnEvent[]>): void {
    for (let events = held.get(this.#begun); events; events = held.get(this.#begun)) {
      const [start] = events;
      if (start?.type !== "item.start" || !this.#mayBegin(start)) return;
      held.delete(this.#begun);
      for (const event of events) this.#pass(event);
    }
  }
}
