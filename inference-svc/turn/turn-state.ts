/**
 * Working state of the layers of one turn, apart from its receipt. A feature declares a key for its data between steps, and
 * no other feature can read or change them.
 */

/** Number of keys so far: each key owns one place in every turn's state. */
let keys = 0;

export class StateKey<Value> {
  readonly place = keys++;
  readonly create: () => Value;

  /** @param create makes the value at its first use in a turn */
  constructor(create: () => Value) {
    this.create = create;
  }
}

/** The state of a turn. A list instead of a map, because the router reads its state in every turn. */
export class TurnState {
  readonly #values: unknown[] = [];

  get<Value>(key: StateKey<Value>): Value {
    return (this.#values[key.place] ??= key.create()) as Value;
  }
}
