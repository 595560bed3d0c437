/**
 * What belongs to one reading with an automaton and not to its state: where its threads began, and the matches that they have come to.
 *
 * Threads that are preferred to a match that was found may still replace it. Until they have ended it stands under reserve, and the search goes
 * on behind it as if it was final; what is found there stands under reserve too. A thread of that search that comes to where a thread of an
 * earlier one is need not be followed: if it succeeds, so does the earlier one, and takes everything behind it along. So there are never more
 * threads than instructions, however much stands under reserve.
 */
import { type Move, type Origin, begun } from "./automaton.ts";
import type { Span } from "./finder.ts";

/** Of the move that is being taken; nobody else takes one meanwhile. */
const continuedStarts: number[] = [];
const continuedRanks: number[] = [];

export class Threads {
  /** Of each thread of the state where it began, and how many matches come before its own; what is behind them is of threads that have ended. */
  #starts: number[] = [];
  #ranks: number[] = [];
  /** Matches that no thread is left to replace are told and dropped. */
  #reserved: Span[] = [];
  /** How many were told. */
  #told = 0;

  /** Where the one that is preferred to all others began. */
  get start(): number {
    return this.#starts[0] as number;
  }

  /** Whether there are matches that were not told. */
  get reserves(): boolean {
    return this.#reserved.length > 0;
  }

  /** @param alive threads of the state */
  fork(alive: number): Threads {
    const fork = new Threads();
    fork.#starts = this.#starts.slice(0, alive);
    fork.#ranks = this.#ranks.slice(0, alive);
    fork.#reserved = [...this.#reserved];
    fork.#told = this.#told;
    return fork;
  }

  /** @param from where the symbol of the move stands @param until where it ends */
  take({ before, after, kept, origins }: Move, from: number, until: number): void {
    if (before !== undefined) this.hit(before, from);
    const open = this.#told + this.#reserved.length;
    const [start, rank] = after === undefined ? [0, 0] : this.#of(after, from);
    this.#continue(kept, origins, from, open);
    if (after !== undefined) this.#reserve(start, until, rank);
  }

  /** A match that ends where nothing was read yet. */
  hit(origin: Origin, at: number): void {
    const [start, rank] = this.#of(origin, at);
    this.#reserve(start, at, rank);
  }

  /** Matches that nobody alive can replace any more, each told once. */
  settled(isAlive: boolean): readonly Span[] {
    const final = isAlive ? (this.#ranks[0] as number) - this.#told : this.#reserved.length;
    if (final === 0) return nothing;
    this.#told += final;
    return this.#reserved.splice(0, final);
  }

  #of(origin: Origin, from: number): readonly [start: number, rank: number] {
    if (origin === begun) return [from, this.#told + this.#reserved.length];
    return [this.#starts[origin] as number, this.#ranks[origin] as number];
  }

  /** In place of everything that stands there and behind. */
  #reserve(start: number, end: number, rank: number): void {
    this.#reserved.length = rank - this.#told;
    this.#reserved.push({ start, end });
  }

  #continue(kept: number, origins: readonly Origin[], from: number, rank: number): void {
    const count = origins.length;
    // One thread can be continued by several, so that all are read before any is written.
    for (let index = 0; index < count; index++) {
      const origin = origins[index] as Origin;
      continuedStarts[index] = origin === begun ? from : (this.#starts[origin] as number);
      continuedRanks[index] = origin === begun ? rank : (this.#ranks[origin] as number);
    }
    for (let index = 0; index < count; index++) {
      this.#starts[kept + index] = continuedStarts[index] as number;
      this.#ranks[kept + index] = continuedRanks[index] as number;
    }
  }
}

const nothing: readonly Span[] = [];
