/**
 * Values in an array with reused places.
 *
 * V8 links each outgrown table of a Set or Map to its successor, and once a full collection has aged one of them, the whole chain survives young
 * collections: for the turns of a process, every finished turn was copied twice and died old, which cost a quarter of a gateway's time. A fully grown array
 * keeps no removed value.
 */
export class SlotArray<Value> {
  readonly #values: (Value | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#values.length - this.#free.length;
  }

  /** @returns the place of the value until it is deleted */
  add(value: Value): number {
    const place = this.#free.pop() ?? this.#values.length;
    this.#values[place] = value;
    return place;
  }

  get(place: number): Value | undefined {
    return this.#values[place];
  }

  /** @param place must be in use */
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
