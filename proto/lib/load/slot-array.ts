/**
 * Stores values in an array whose places are reused.
 *
 * A Set or Map would leak memory into the old generation: V8 links each outgrown table to its successor, and once a
 * full collection has aged one of them, the whole chain survives young collections. For the turns of a process, every
 * finished turn was then copied twice and kept until a full collection, which took a quarter of a gateway's time. An
 * array that has stopped growing keeps no removed value.
 */
export class SlotArray<Value> {
  readonly #values: (Value | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#values.length - this.#free.length;
  }

  /** Adds a value. @returns its place, until the value is deleted */
  add(value: Value): number {
    const place = this.#free.pop() ?? this.#values.length;
    this.#values[place] = value;
    return place;
  }

  get(place: number): Value | undefined {
    return this.#values[place];
  }

  /** Deletes a value. @param place must be in use */
  delete(place: number): void {
    this.#values[place] = undefined;
    this.#free.push(place);
  }

  clear(): void {
    this.#values.length = 0;
    this.#free.length = 0;
  }

  values(): Value[] {
    return this.#values.filter((value) => value !== undefined);
  }
}
