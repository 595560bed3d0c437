/**
 * The part of a scan that the automaton's state does not contain: where its threads began, unless their instructions
 * determine it, and the matches found so far.
 *
 * A thread that is preferred to a found match may still replace it. Until all such threads have ended, the match is
 * reserved, and the search continues after it as if it were final; matches found there are reserved too. When a thread
 * of that later search reaches the same instruction as a thread of an earlier search, it need not be followed: if it
 * succeeds, so does the earlier thread, which discards everything after it. So there are never more threads than
 * instructions, however many matches are reserved.
 */
import { type Transition, type StartIndex, type State, startedBeforeSymbol } from "./automaton.ts";
import type { TextSpan } from "./finder.ts";

/** Objects of finished scans, for reuse: creating them took a quarter of the scan of a short text. */
const spare: Threads[] = [];
/** Maximum number of objects kept for reuse; each takes 200 bytes. */
const maxSpare = 512;

/** Buffers for the current transition; transitions are never nested. */
const continuedStarts: number[] = [];
const continuedRanks: number[] = [];

export class Threads {
  /**
   * Position of each start; `#ranks` has the number of matches before it. Entries beyond the starts of the state are
   * unused, as are those of starts whose age the state determines. Both arrays begin with two entries: nearly every
   * pattern has at most two starts, and an empty array would take room for seventeen at its first entry.
   */
  #starts: number[] = [0, 0];
  #ranks: number[] = [0, 0];
  /** Reserved matches, which a thread may still replace. Final matches are reported and removed. */
  #reserved: TextSpan[] = [];
  /** Number of matches reported so far. */
  #reported = 0;

  static open(): Threads {
    return spare.pop() ?? new Threads();
  }

  /** Gives the object back for reuse at the end of the scan, which must not use it afterwards. */
  close(): void {
    this.#reserved.length = 0;
    this.#reported = 0;
    if (spare.length < maxSpare) spare.push(this);
  }

  /** @returns the position where the most preferred thread started. @param at the current position */
  startIn(state: State, at: number): number {
    return this.#startOf(0, at, state.ages);
  }

  /** Whether any match is not reported yet. */
  get hasReserved(): boolean {
    return this.#reserved.length > 0;
  }

  /** Copies the object. @param count number of starts in the state */
  fork(count: number): Threads {
    const fork = new Threads();
    fork.#starts = this.#starts.slice(0, count);
    fork.#ranks = this.#ranks.slice(0, count);
    fork.#reserved = [...this.#reserved];
    fork.#reported = this.#reported;
    return fork;
  }

  /** Follows a transition. @param from position where its symbol starts @param until position where the symbol ends */
  take(move: Transition, from: number, until: number): void {
    const { before, after, ages } = move;
    if (move.begins) return this.#continueOne(move, startedBeforeSymbol, from);
    if (before !== undefined) this.hit(before, from, ages);
    if (after === undefined) return this.#continue(move, from);
    const start = this.#startOf(after, from, ages);
    const rank = this.#rankOf(after, from, ages);
    this.#continue(move, from);
    this.#reserve(start, until, rank);
  }

  /** Adds a match that ends at a position. @param ages of the starts there */
  hit(origin: StartIndex, at: number, ages: readonly number[]): void {
    this.#reserve(this.#startOf(origin, at, ages), at, this.#rankOf(origin, at, ages));
  }

  /** Removes and returns final matches, which no live thread can replace any more. */
  takeSettled(state: State, at: number): readonly TextSpan[] {
    if (this.#reserved.length === 0) return nothing;
    const isAlive = state.threads.length > 0;
    const final = isAlive ? this.#rankOf(0, at, state.ages) - this.#reported : this.#reserved.length;
    if (final === 0) return nothing;
    this.#reported += final;
    return this.#reserved.splice(0, final);
  }

  #startOf(origin: StartIndex, from: number, ages: readonly number[]): number {
    if (origin === startedBeforeSymbol) return from;
    const age = ages[origin] as number;
    return age > 0 ? from - age : (this.#starts[origin] as number);
  }

  /** Number of matches before a start. */
  #rankOf(origin: StartIndex, from: number, ages: readonly number[]): number {
    if (origin !== startedBeforeSymbol && ages[origin] === 0) return this.#ranks[origin] as number;
    // A match that the thread may replace ends after the thread's start; all others end before it.
    const start = this.#startOf(origin, from, ages);
    let count = this.#reserved.length;
    while (count > 0 && (this.#reserved[count - 1] as TextSpan).end > start) count--;
    return this.#reported + count;
  }

  /** Replaces the match of this rank, and removes all matches after it. */
  #reserve(start: number, end: number, rank: number): void {
    this.#reserved.length = rank - this.#reported;
    this.#reserved.push({ start, end });
  }

  #continue(move: Transition, from: number): void {
    const { kept, origins, ages } = move;
    const count = origins.length;
    if (count === 1) return this.#continueOne(move, origins[0] as StartIndex, from);
    // All starts are read before any is written, because a start can continue one that is about to be overwritten.
    for (let index = 0; index < count; index++) {
      const origin = origins[index] as StartIndex;
      continuedStarts[index] = this.#startOf(origin, from, ages);
      continuedRanks[index] = this.#rankOf(origin, from, ages);
    }
    for (let index = 0; index < count; index++) {
      this.#starts[kept + index] = continuedStarts[index] as number;
      this.#ranks[kept + index] = continuedRanks[index] as number;
    }
  }

  #continueOne({ kept, ages }: Transition, origin: StartIndex, from: number): void {
    const start = this.#startOf(origin, from, ages);
    this.#ranks[kept] = this.#rankOf(origin, from, ages);
    this.#starts[kept] = start;
  }
}

const nothing: readonly TextSpan[] = [];
