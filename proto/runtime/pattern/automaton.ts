/**
 * Compiles a pattern into an automaton lazily, while texts are read. A state is the ordered list of live threads of the
 * program, most preferred first. Where the threads began is kept per scan (see `threads.ts`): threads that continue the
 * same one share a start, and a move maps the new starts to the old ones.
 */
import { measureDistances } from "./distances.ts";
import { Follower, unknownContext } from "./follow.ts";
import { context } from "./context.ts";
import type { Instruction, Program } from "./program.ts";
import type { SymbolId } from "./symbols.ts";

export interface State {
  /** Number of a cached state, counted from 1; 0 for a state that is not cached. */
  readonly id: number;
  /**
   * Instructions that wait for a character or for the context after the position. Threads that start at the position
   * are not included.
   */
  readonly threads: readonly number[];
  /** Index of each thread's start; starts are numbered in the order of the threads that have them first. */
  readonly starts: readonly number[];
  /** Number of different starts. */
  readonly startCount: number;
  /** UTF-16 units since each start; 0 where the threads do not tell, so that the scan must remember the start. */
  readonly ages: readonly number[];
  /** Context bits of the character before the position. */
  readonly before: number;
  /** Moves by symbol, filled on first use. */
  readonly moves: (Move | undefined)[];
}

/** Index of a start in the previous state, or `startsHere` for a thread that began before the symbol. */
export type Origin = number;
export const startsHere: Origin = -1;

export interface Move {
  readonly to: State;
  /** No match ends, and every surviving start that the scan must remember is already remembered at its index. */
  readonly quiet: boolean;
  /** All that is to be remembered is that a thread begins before the symbol. */
  readonly begins: boolean;
  /**
   * The start of the match that ends before the symbol, now that the context after it is known. Less preferred threads
   * are dropped.
   */
  readonly before: Origin | undefined;
  /** The start of the match that ends after the symbol. */
  readonly after: Origin | undefined;
  /** Number of leading starts for which nothing is to be remembered. */
  readonly kept: number;
  /** The previous start that each of the next starts continues; those after them need not be remembered either. */
  readonly origins: readonly Origin[];
  /** Ages of the starts before the symbol. */
  readonly ages: readonly number[];
}

/** Cache limits: 1 to 2 MB per pattern. A full cache is emptied and refilled on demand. */
const maxStates = 1_000;
const maxMoves = 10_000;
/** States with more threads rarely recur, so that they are not cached. */
const maxRemembered = 256;

interface ThreadList {
  readonly threads: number[];
  /** The origin of each thread. */
  readonly origins: Origin[];
  readonly hit: Origin | undefined;
}

export class Automaton {
  readonly program: Program;
  readonly #follower: Follower;
  /** UTF-16 units from the start of a match to each instruction; -1 where they vary. */
  readonly #distances: Int32Array;
  /** Accept index of each instruction; -1 for one that accepts nothing. */
  readonly #accepted: Int32Array;
  /** The instruction that follows each accepting one. */
  readonly #nextAfterAccept: Int32Array;
  readonly #states = new Map<string, State>();
  /** Threads that start at a position, by the context before it. */
  readonly #startThreadsByContext = new Map<number, readonly number[]>();
  #moves = 0;
  #ids = 0;
  /** How often the cache was emptied. */
  resets = 0;

  constructor(program: Program) {
    this.program = program;
    this.#follower = new Follower(program);
    this.#distances = measureDistances(program);
    this.#accepted = Int32Array.from(program.instructions, (one) => (one.op === "accept" ? one.accepted : -1));
    this.#nextAfterAccept = Int32Array.from(program.instructions, (one, at) =>
      one.op === "accept" ? (one.to ?? at + 1) : -1,
    );
  }

  /** The state before the start of a text. */
  get initial(): State {
    return this.restState(context.edge & this.program.symbols.mask);
  }

  /** The state in which no thread is under way. @param before context of the last character */
  restState(before: number): State {
    return this.#state([], [], before);
  }

  move(state: State, symbol: SymbolId): Move {
    const known = state.moves[symbol];
    if (known) return known;
    const move = this.#buildMove(state, symbol);
    if (Math.max(state.threads.length, move.to.threads.length) > maxRemembered) return move;
    state.moves[symbol] = move;
    this.#moves++;
    return move;
  }

  /** The thread whose match ends with the text. */
  finish(state: State): Origin | undefined {
    return this.#resolveAssertions(state, context.edge).hit;
  }

  #buildMove(state: State, symbol: SymbolId): Move {
    const after = this.program.symbols.contextOf(symbol);
    const ready = this.#resolveAssertions(state, after);
    const next = this.#step(ready, symbol, after);
    const origins = [...new Set(next.origins)];
    const starts = next.origins.map((origin) => origins.indexOf(origin));
    const to = this.#state(next.threads, starts, after);
    const isKept = (index: number) => to.ages[index] !== 0 || (origins[index] === index && state.ages[index] === 0);
    let kept = 0;
    while (kept < origins.length && isKept(kept)) kept++;
    let until = origins.length;
    while (until > kept && isKept(until - 1)) until--;
    const matches = ready.hit !== undefined || next.hit !== undefined;
    return {
      to,
      before: ready.hit,
      after: next.hit,
      quiet: kept === until && !matches,
      begins: kept === until - 1 && origins[kept] === startsHere && !matches,
      kept,
      origins: origins.slice(kept, until),
      ages: state.ages,
    };
  }

  /** All threads that can take a character, once the context after the position is known. */
  #resolveAssertions(state: State, after: number): ThreadList {
    const beginning = this.#startThreads(state.before);
    if (this.program.symbols.mask === 0) return withoutAssertions(state, beginning);
    const threads: number[] = [];
    const origins: Origin[] = [];
    this.#follower.startPosition();
    const matches = (at: number, origin: Origin): boolean => {
      const matched = this.#resolveThread(at, state.before, after, threads);
      fill(origins, origin, threads.length);
      return matched;
    };
    const hit = state.threads.findIndex((at, index) => matches(at, state.starts[index] as Origin));
    for (const at of beginning) matches(at, startsHere);
    return { threads, origins, hit: state.starts[hit] };
  }

  #resolveThread(at: number, before: number, after: number, threads: number[]): boolean {
    if (!this.#follower.visit(at)) return false;
    const instruction = this.program.instructions[at] as Instruction;
    if (instruction.op !== "assert") threads.push(at);
    else if (instruction.assertion.holds(before, after)) {
      return this.#follower.follow(at + 1, before, after, threads);
    }
    return false;
  }

  #step(ready: ThreadList, symbol: SymbolId, before: number): ThreadList {
    const threads: number[] = [];
    const origins: Origin[] = [];
    const accepts = this.program.symbols.acceptance(symbol);
    this.#follower.startPosition();
    for (let index = 0; index < ready.threads.length; index++) {
      const at = ready.threads[index] as number;
      if (accepts[this.#accepted[at] as number] !== 1) continue;
      const origin = ready.origins[index] as Origin;
      const matched = this.#follower.follow(this.#nextAfterAccept[at] as number, before, unknownContext, threads);
      fill(origins, origin, threads.length);
      if (matched) return { threads, origins, hit: origin };
    }
    return { threads, origins, hit: undefined };
  }

  #startThreads(before: number): readonly number[] {
    const known = this.#startThreadsByContext.get(before);
    if (known) return known;
    const threads: number[] = [];
    this.#follower.startPosition();
    this.#follower.follow(0, before, unknownContext, threads);
    this.#startThreadsByContext.set(before, threads);
    return threads;
  }

  #state(threads: readonly number[], starts: readonly number[], before: number): State {
    const startCount = starts.length === 0 ? 0 : Math.max(...starts) + 1;
    if (threads.length > maxRemembered)
      return { id: 0, threads, starts, startCount, ages: this.#agesOf(threads, starts, startCount), before, moves: [] };
    const name = String.fromCharCode(before, ...threads, ...starts);
    const known = this.#states.get(name);
    if (known) return known;
    if (this.#states.size >= maxStates || this.#moves >= maxMoves) {
      this.#states.clear();
      this.#moves = 0;
      this.resets++;
    }
    const ages = this.#agesOf(threads, starts, startCount);
    const state = { id: ++this.#ids, threads, starts, startCount, ages, before, moves: [] };
    this.#states.set(name, state);
    return state;
  }

  #agesOf(threads: readonly number[], starts: readonly number[], startCount: number): readonly number[] {
    const ages = Array.from({ length: startCount }, () => 0);
    for (let index = 0; index < threads.length; index++) {
      const age = this.#distances[threads[index] as number] as number;
      if (age > 0) ages[starts[index] as number] = age;
    }
    return ages;
  }
}

/** Shortcut for patterns without assertions, which do not depend on the context after a position. */
function withoutAssertions({ threads, starts }: State, beginning: readonly number[]): ThreadList {
  const origins: Origin[] = [...starts];
  fill(origins, startsHere, threads.length + beginning.length);
  return { threads: [...threads, ...beginning], origins, hit: undefined };
}

function fill(origins: Origin[], origin: Origin, length: number): void {
  while (origins.length < length) origins.push(origin);
}
