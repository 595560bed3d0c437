/**
 * Values by key, in the order in which they were added. The Map inside maps keys to places instead of values, for the
 * reason explained in slot-array.ts.
 */
import { SlotArray } from "./slot-array.ts";

export class SlotMap<Key, Value> {
  readonly #placeOf = new Map<Key, number>();
  readonly #values = new SlotArray<Value>();

  get size(): number {
    return this.#placeOf.size;
  }

  get(key: Key): Value | undefined {
    const place = this.#placeOf.get(key);
    return place === undefined ? undefined : this.#values.get(place);
  }

  /** Replaces the value of a key that is present. */
  set(key: Key, value: Value): void {
    const place = this.#placeOf.get(key);
    if (place !== undefined) this.#values.delete(place);
    this.#placeOf.set(key, this.#values.add(value));
  }

  /** Deletes a key. @returns false when the key was not present */
  delete(key: Key): boolean {
    const place = this.#placeOf.get(key);
    if (place === undefined) return false;
    this.#placeOf.delete(key);
    this.#values.delete(place);
    return true;
  }

  values(): Value[] {
    return [...this.#placeOf.values()].map((place) => this.#values.get(place) as Value);
  }

  /** Empties the map. @returns its values in the order of their arrival */
  clear(): Value[] {
    const values = this.values();
    this.#placeOf.clear();
    this.#values.clear();
    return values;
  }
}
