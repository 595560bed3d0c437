/** The items of a Responses answer, found by number, id or type in a time independent of their count. */
import { type JsonObject, text } from "../json.ts";
import type { OutputSlot } from "./output-items.ts";

/** Whether a field has a value: some servers write null for a missing number or id. */
export const hasValue = (field: unknown): boolean => field !== undefined && field !== null;

const keyOf = (outputIndex: unknown, id: unknown): string => `${String(outputIndex)}:${String(id)}`;

export class OutputSlots {
  /** The items in the order of appearance. */
  readonly #all: OutputSlot[] = [];
  /** The last item with an id, with a number, and with both. */
  readonly #byId = new Map<unknown, OutputSlot>();
  readonly #byIndex = new Map<unknown, OutputSlot>();
  readonly #byBoth = new Map<string, OutputSlot>();
  /** Items begun by deltas without a number and an id. */
  readonly #unannounced: OutputSlot[] = [];
  /** Items that may be open; ended ones are removed by the next search. */
  #open: OutputSlot[] = [];

  add(slot: OutputSlot): void {
    const { outputIndex, upstreamId } = slot;
    this.#all.push(slot);
    this.#open.push(slot);
    if (hasValue(upstreamId)) this.#byId.set(upstreamId, slot);
    if (hasValue(outputIndex)) this.#byIndex.set(outputIndex, slot);
    if (hasValue(upstreamId)) this.#byBoth.set(keyOf(outputIndex, upstreamId), slot);
    if (outputIndex === undefined && upstreamId === undefined) this.#unannounced.push(slot);
  }

  /**
   * Finds an item by index and id, else only by id (some servers give every item the index 0), else only by index
   * (others change ids midway).
   */
  find(outputIndex: unknown, id: unknown): OutputSlot | undefined {
    const last = this.#all.at(-1);
    const [byIndex, byId] = [hasValue(outputIndex), hasValue(id)];
    if (byIndex && last?.outputIndex === outputIndex && (!byId || last?.upstreamId === id)) return last;
    if (!byId) return byIndex ? this.#byIndex.get(outputIndex) : undefined;
    const exact = byIndex ? this.#byBoth.get(keyOf(outputIndex, id)) : undefined;
    return exact ?? this.#byId.get(id) ?? (byIndex ? this.#byIndex.get(outputIndex) : undefined);
  }

  /** Whether an item was announced with the same number and id. */
  has(outputIndex: unknown, id: string): boolean {
    return this.#byBoth.has(keyOf(outputIndex, id));
  }

  /** Open items of a type, in order. */
  openOf(type: string): readonly OutputSlot[] {
    if (this.#open.some(({ ended }) => ended)) this.#open = this.#open.filter(({ ended }) => !ended);
    return this.#open.filter((slot) => slot.type === type);
  }

  /** The item a delta without a number and an id has begun. */
  findUnannounced(type: string): OutputSlot | undefined {
    while (this.#unannounced.at(-1)?.ended === true) this.#unannounced.pop();
    return this.#unannounced.findLast((slot) => slot.type === type && !slot.ended);
  }

  /** Ends the items without an end. */
  endOpen(end: (slot: OutputSlot) => void): void {
    for (const slot of this.#open) if (!slot.ended) end(slot);
  }

  /** @returns a function that gives each item of the final response its item of the stream, at most once */
  matcher(): (item: JsonObject) => OutputSlot | undefined {
    const byId = new Map<string, OutputSlot[]>();
    const byType = new Map<unknown, OutputSlot[]>();
    // The lists are reversed: the first item is taken from the end.
    for (let at = this.#all.length - 1; at >= 0; at--) {
      const slot = this.#all[at]!;
      listIn(byType, slot.type).push(slot);
      listIn(byId, keyOf(slot.type, slot.upstreamId)).push(slot);
    }
    const taken = new Set<OutputSlot>();
    const take = (list: OutputSlot[] | undefined): OutputSlot | undefined => {
      let slot = list?.pop();
      while (slot && taken.has(slot)) slot = list?.pop();
      if (slot) taken.add(slot);
      return slot;
    };
    return (item) => take(byId.get(keyOf(text(item.type), item.id))) ?? take(byType.get(item.type));
  }
}

function listIn<Key>(lists: Map<Key, OutputSlot[]>, key: Key): OutputSlot[] {
  let list = lists.get(key);
  if (list === undefined) lists.set(key, (list = []));
  return list;
}
