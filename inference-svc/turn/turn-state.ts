/**
 * Working state of the layers of one turn, apart from its receipt. A feature declares a key for data it keeps between
 * steps; no other feature can read or change this data.
 */

/** Number of keys declared so far. Each key has an index in the state of every turn. */
let keys = 0;

export class StateKey<Value> {
  readonly place = keys++;
  readonly create: () => Value;

  /** @param create makes the value when it is first used in a turn */
  constructor(create: () => Value) {
    this.create = create;
  }
}

/** The state of a turn: a list instead of a map, because the router reads it in every turn. */
export class TurnState {
  readonly #values: unknown[] = [];

  get<Value>(key: StateKey<Value>): Value {
    return (this.#values[key.place] ??= key.create()) as Value;
  }
}
