/** Counts events of a few kinds in a recent period, in a ring of slots with a running sum, so reading costs nothing. */
export class RollingCounts {
  readonly #slots: readonly Uint32Array[];
  readonly #slotMs: number;
  readonly #sum: Uint32Array;
  /** Number of the newest slot, counted from time 0. */
  #newest = 0;

  /** Counts older than `slots` times `slotMs` milliseconds are dropped. @param things number of kinds of events */
  constructor(things: number, slots: number, slotMs: number) {
    this.#slots = Array.from({ length: slots }, () => new Uint32Array(things));
    this.#slotMs = slotMs;
    this.#sum = new Uint32Array(things);
  }

  /** @param thing kind of the event, from 0 @param now time in milliseconds; never earlier than in the call before */
  add(thing: number, now: number): void {
    this.#advance(now);
    const slot = this.#slots[this.#newest % this.#slots.length]!;
    slot[thing]! += 1;
    this.#sum[thing]! += 1;
  }

  /** The number of events of each kind. The returned array is used again by the next call. */
  sum(now: number): Uint32Array {
    this.#advance(now);
    return this.#sum;
  }

  #advance(now: number): void {
    const newest = Math.floor(now / this.#slotMs);
    const count = this.#slots.length;
    // After a long pause, one round of the ring empties all slots.
    for (let at = Math.max(this.#newest + 1, newest - count + 1); at <= newest; at++) {
      const slot = this.#slots[at % count]!;
      for (let thing = 0; thing < slot.length; thing++) this.#sum[thing]! -= slot[thing]!;
      slot.fill(0);
    }
    if (newest > this.#newest) this.#newest = newest;
  }
}
