/** The open turns of a session, by id. Its Map holds numbers instead of turns, for the reason explained in ../load/slot-array.ts. */
import { SlotArray } from "../load/slot-array.ts";

export class TurnTable<Turn> {
  readonly #placeOf = new Map<number, number>();
  readonly #turns = new SlotArray<Turn>();

  get size(): number {
    return this.#placeOf.size;
  }

  get(id: number): Turn | undefined {
    const place = this.#placeOf.get(id);
    return place === undefined ? undefined : this.#turns.get(place);
  }

  /** @param id must not be in the table */
  add(id: number, turn: Turn): void {
    this.#placeOf.set(id, this.#turns.add(turn));
  }

  /** False when the id was not in the table. */
  delete(id: number): boolean {
    const place = this.#placeOf.get(id);
    if (place === undefined) return false;
    this.#placeOf.delete(id);
    this.#turns.delete(place);
    return true;
  }

  /** Turns in the order of their arrival. */
  values(): Turn[] {
    return [...this.#placeOf.values()].map((place) => this.#turns.get(place) as Turn);
  }

  /** Empties the table. @returns its turns in the order of their arrival */
  clear(): Turn[] {
    const turns = this.values();
    this.#placeOf.clear();
    this.#turns.clear();
    return turns;
  }
}
