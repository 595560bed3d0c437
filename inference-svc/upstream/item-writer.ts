/** Writes items other than messages and reasoning: calls, with the text that they carry, and whatever passes whole. */
import type { OutputItem } from "../turn/turn.ts";
import { type Carried, carriedBy, carriesText } from "./carried.ts";
import { providerFailed } from "./failure.ts";
import { type JsonObject, text } from "./json.ts";
import type { Emit, ItemStatus } from "./output.ts";

/** @param status where the provider gave none */
function ended(start: OutputItem, final: JsonObject, status: ItemStatus): string {
  // Servers forget to change it in calls, and a tool that runs on in the next request keeps it.
  const forgotten = final.status === "in_progress" && carriesText(start.type);
  if (typeof final.status === "string" && !forgotten) return final.status;
  // A change of a file has no status "incomplete".
  return start.type === "apply_patch_call" && status === "incomplete" ? "in_progress" : status;
}

/** What was announced stays: clients found the item by it. */
const identity = ({ type, id, call_id, name }: OutputItem): JsonObject => ({
  type,
  id,
  ...(call_id !== undefined && { call_id }),
  ...(name !== undefined && { name }),
});

/** What of the whole text has not been said; nothing when it contradicts what was. */
export const rest = (said: string, whole: unknown): string =>
  typeof whole === "string" && whole.startsWith(said) ? whole.slice(said.length) : "";

/**
 * For a text that has to be whole by now, as clients and guardrails have taken it for that: what is said again was heard before.
 * @throws Fault for what nobody can be told any more
 */
export function heardBefore(said: string, late: string): void {
  if (!said.includes(late)) throw providerFailed("a text that goes on behind its end");
}

export class CallWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #start: OutputItem;
  readonly #place: Carried;
  /** What the call carries so far: JSON arguments, input, a diff, or code. */
  carried = "";
  /** All of it, once the item has ended. */
  #whole: string | undefined;

  constructor(emit: Emit, index: number, item: OutputItem) {
    this.#emit = emit;
    this.#index = index;
    this.#place = carriedBy(item);
    // Some providers announce an item as completed: to clients it begins.
    this.#start = { ...item, status: "in_progress" };
    emit({ type: "item.start", index, item: { ...this.#start, ...this.#place.write(item, "") } });
  }

  /** A delta of what the call carries. */
  arguments(delta: string): void {
    if (delta === "") return;
    if (this.#whole !== undefined) return heardBefore(this.#whole, delta);
    this.carried += delta;
    this.#emit({ type: "arguments.delta", index: this.#index, delta });
  }

  /** The provider says the whole text: what it had not said yet follows as a delta. */
  complete(whole: unknown): void {
    if (this.carried !== "" || this.#place.completed) this.arguments(rest(this.carried, whole));
  }

  /** The same of an item that holds it. */
  completeAs(item: JsonObject): void {
    this.complete(this.#place.read(item));
  }

  /** @param final the item as the provider says it in the end, where it does */
  end(status: ItemStatus, final: JsonObject = {}): void {
    const item = { ...this.#start, ...final };
    this.completeAs(item);
    const whole = this.carried === "" && !this.#place.completed;
    this.#whole = whole ? text(this.#place.read(item)) : this.carried;
    this.#emit({
      type: "item.end",
      index: this.#index,
      item: {
        ...item,
        ...(!whole && this.#place.write(item, this.carried)),
        status: ended(this.#start, final, status),
        ...identity(this.#start),
      },
    });
  }
}

export class OtherWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #start: OutputItem;

  constructor(emit: Emit, index: number, item: OutputItem) {
    this.#emit = emit;
    this.#index = index;
    // Some providers announce an item as completed: to clients it begins.
    this.#start = { ...item, status: "in_progress" };
    emit({ type: "item.start", index, item: this.#start });
  }

  /** @param final the item as the provider says it in the end, where it does */
  end(status: ItemStatus, final: JsonObject = {}): void {
    const item = {
      ...this.#start,
      ...final,
      status: ended(this.#start, final, status),
      ...identity(this.#start),
    } as OutputItem;
    this.#emit({ type: "item.end", index: this.#index, item });
  }
}
