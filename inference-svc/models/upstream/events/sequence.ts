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
  #held: TurnEvent[] = [];

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  readonly take = (event: TurnEvent): void => {
    if (!this.#passes(event)) return void this.#held.push(event);
    this.#pass(event);
    if (event.type === "item.end") while (this.#held.length > 0 && this.#release());
  };

  #passes(event: TurnEvent): boolean {
    if (event.type !== "item.start")
      return !("index" in event) || event.index === undefined || event.index < this.#begun;
    if (event.index !== this.#begun) return false;
    const { type } = event.item;
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

  /** Emits waiting events that may be emitted now. @returns whether there were any, because they may make room for others */
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
