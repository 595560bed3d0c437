/**
 * Compiles a pattern into a deterministic automaton, lazily while texts are read. A state is the ordered list of live
 * threads of the program, most preferred first. Where threads began is kept per scan (see `threads.ts`): threads that
 * continue the same thread share a start, and a transition maps the new starts to the old ones.
 */
import { measureDistances } from "./distances.ts";
import { Follower, unknownContext } from "./follow.ts";
import { context } from "./context.ts";
import type { Instruction, Program } from "./program.ts";
import type { SymbolId } from "./symbols.ts";

export interface State {
  /** Number of a cached state, counted from 1; 0 for an uncached state. */
  readonly id: number;
  /**
   * Instructions at which threads wait for a character, or for the context after the position. Threads that start at
   * the position are not included.
   */
  readonly threads: readonly number[];
  /** Index of the start of each thread; starts are numbered in the order of their first threads. */
  readonly starts: readonly number[];
  /** Number of different starts. */
  readonly startCount: number;
  /**
   * Number of UTF-16 units since each start; 0 when it differs between texts, so the scan must remember the start.
   */
  readonly ages: readonly number[];
  /** Context bits of the character before the position. */
  readonly before: number;
  /** Transitions by symbol, filled on first use. */
  readonly moves: (Transition | undefined)[];
}

/** Index of a start in the previous state, or `startedBeforeSymbol` for a thread that started before the symbol. */
export type StartIndex = number;
export const startedBeforeSymbol: StartIndex = -1;

export interface Transition {
  readonly to: State;
  /** True when no match ends and every surviving start keeps its index, so the scan has nothing to do. */
  readonly quiet: boolean;
  /** True when the scan only has to remember the thread that started before the symbol. */
  readonly begins: boolean;
  /**
   * Start of the match that ends before the symbol, now that the context after it is known; undefined for none. Less
   * preferred threads are dropped.
   */
  readonly before: StartIndex | undefined;
  /** Start of the match that ends after the symbol; undefined for none. */
  readonly after: StartIndex | undefined;
  /** Number of first starts that the scan need not remember. */
  readonly kept: number;
  /** For each of the next starts, the previous start that it continues; later starts need not be remembered either. */
  readonly origins: readonly StartIndex[];
  /** Ages of the starts before the symbol. */
  readonly ages: readonly number[];
}

/** Maximum sizes of the cache, 1 to 3 MB per pattern. A full cache is emptied and filled again. */
const maxStates = 1_000;
const maxMoves = 10_000;
/** Maximum number of threads in all cached states; each takes some 40 bytes. */
const maxThreads = 50_000;
/** Maximum number of threads in a cached state. No accepted pattern has a larger state today. */
const maxRemembered = 4_096;

/** A list of threads with their origins, grouped by start; earlier starts are preferred. */
class ThreadList {
  /** Entries from `count` on are unused: the list is reused, because creating it took longer than filling it. */
  readonly threads: number[] = [];
  /** The origin of each thread. */
  readonly origins: StartIndex[] = [];
  count = 0;
  hit: StartIndex | undefined;

  clear(): void {
    this.count = 0;
    this.hit = undefined;
  }

  /** Assigns an origin to all threads that have none yet. @param from `count` before these threads were added */
  fill(origin: StartIndex, from: number): void {
    for (let index = from; index < this.count; index++) this.origins[index] = origin;
  }
}

export class Automaton {
  readonly program: Program;
  readonly #follower: Follower;
  /** Number of UTF-16 units from the start of a match to each instruction; -1 where it varies. */
  readonly #distances: Int32Array;
  /** Accept index of each instruction; -1 for instructions that accept no character. */
  readonly #accepted: Int32Array;
  /** The instruction after each accepting instruction. */
  readonly #nextAfterAccept: Int32Array;
  /** States by a hash of their threads and starts. */
  readonly #states = new Map<number, State[]>();
  /** Threads that start at a position, by the context before it. */
  readonly #startThreadsByContext = new Map<number, readonly number[]>();
  readonly #ready = new ThreadList();
  readonly #next = new ThreadList();
  /** The start of each thread in `#next`; the next two fields hold the origin and the age of each start. */
  readonly #starts: number[] = [];
  readonly #origins: StartIndex[] = [];
  readonly #ages: number[] = [];
  #held = 0;
  #moves = 0;
  #threads = 0;
  #ids = 0;
  /** Number of cache resets. */
  resets = 0;
  /** Number of threads followed so far, a measure of the work without a cached transition. */
  steps = 0;

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

  /** The state without live threads. @param before context of the last character */
  restState(before: number): State {
    this.#next.clear();
    return this.#state(0, before);
  }

  move(state: State, symbol: SymbolId): Transition {
    const known = state.moves[symbol];
    if (known) return known;
    const move = this.#buildMove(state, symbol);
    if (Math.max(state.threads.length, move.to.threads.length) > maxRemembered) return move;
    state.moves[symbol] = move;
    this.#moves++;
    return move;
  }

  /** Start of the match that ends with the text; undefined for none. */
  finish(state: State): StartIndex | undefined {
    this.#resolveAssertions(state, context.edge);
    return this.#ready.hit;
  }

  #buildMove(state: State, symbol: SymbolId): Transition {
    const after = this.program.symbols.contextOf(symbol);
    this.#resolveAssertions(state, after);
    this.#step(symbol, after);
    const { hit: before } = this.#ready;
    const { hit } = this.#next;
    this.steps += this.#ready.count + this.#next.count;
    const count = this.#numberStarts();
    const to = this.#state(count, after);
    const origins = this.#origins;
    const { ages } = state;
    let kept = 0;
    while (kept < count && (to.ages[kept] !== 0 || (origins[kept] === kept && ages[kept] === 0))) kept++;
    let until = count;
    while (until > kept && (to.ages[until - 1] !== 0 || (origins[until - 1] === until - 1 && ages[until - 1] === 0))) {
      until--;
    }
    const matches = before !== undefined || hit !== undefined;
    return {
      to,
      before,
      after: hit,
      quiet: kept === until && !matches,
      begins: kept === until - 1 && origins[kept] === startedBeforeSymbol && !matches,
      kept,
      origins: kept === until ? noOrigins : origins.slice(kept, until),
      ages,
    };
  }

  /** Fills `#ready` with all threads that are ready for a character, once the context after the position is known. */
  #resolveAssertions(state: State, after: number): void {
    const ready = this.#ready;
    const beginning = this.#startThreads(state.before);
    const { threads, starts } = state;
    ready.clear();
    if (this.program.symbols.mask === 0) {
      // Fast path: no thread depends on the context after the position.
      for (let index = 0; index < threads.length; index++) {
        ready.threads[index] = threads[index] as number;
        ready.origins[index] = starts[index] as StartIndex;
      }
      ready.count = threads.length;
      for (const at of beginning) ready.threads[ready.count++] = at;
      return ready.fill(startedBeforeSymbol, threads.length);
    }
    this.#follower.startPosition();
    for (let index = 0; index < threads.length && ready.hit === undefined; index++) {
      this.#resolveThread(threads[index] as number, starts[index] as StartIndex, state.before, after);
    }
    // A thread that starts here is less preferred than the match that ends here, and is not compared with it.
    const { hit } = ready;
    for (const at of beginning) this.#resolveThread(at, startedBeforeSymbol, state.before, after);
    ready.hit = hit;
  }

  #resolveThread(at: number, origin: StartIndex, before: number, after: number): void {
    const ready = this.#ready;
    if (!this.#follower.visit(at)) return;
    const from = ready.count;
    const instruction = this.program.instructions[at] as Instruction;
    if (instruction.op !== "assert") ready.threads[ready.count++] = at;
    else if (instruction.assertion.holds(before, after)) {
      ready.count = this.#follower.follow(at + 1, before, after, ready.threads, ready.count);
      if (this.#follower.matched) ready.hit = origin;
    }
    ready.fill(origin, from);
  }

  /** Fills `#next` with the threads after the symbol. */
  #step(symbol: SymbolId, before: number): void {
    const ready = this.#ready;
    const next = this.#next;
    const follower = this.#follower;
    const accepts = this.program.symbols.acceptance(symbol);
    follower.startPosition();
    next.clear();
    for (let index = 0; index < ready.count; index++) {
      const at = ready.threads[index] as number;
      if (accepts[this.#accepted[at] as number] !== 1) continue;
      const origin = ready.origins[index] as StartIndex;
      const from = next.count;
      const to = this.#nextAfterAccept[at] as number;
      next.count = follower.follow(to, before, unknownContext, next.threads, from);
      next.fill(origin, from);
      if (!follower.matched) continue;
      next.hit = origin;
      return;
    }
  }

  #startThreads(before: number): readonly number[] {
    const known = this.#startThreadsByContext.get(before);
    if (known) return known;
    const threads: number[] = [];
    this.#follower.startPosition();
    this.#follower.follow(0, before, unknownContext, threads, 0);
    this.#startThreadsByContext.set(before, threads);
    return threads;
  }

  /** Numbers the starts of the next threads in their order. @returns the number of starts */
  #numberStarts(): number {
    const { origins, count } = this.#next;
    let starts = 0;
    for (let index = 0; index < count; index++) {
      const origin = origins[index] as StartIndex;
      if (index === 0 || origin !== origins[index - 1]) this.#origins[starts++] = origin;
      this.#starts[index] = starts - 1;
    }
    return starts;
  }

  /** The state for the next threads, from the cache if it has it. */
  #state(startCount: number, before: number): State {
    const { threads, count } = this.#next;
    const starts = this.#starts;
    if (count > maxRemembered) return this.#buildState(0, startCount, before);
    let hash = before;
    for (let index = 0; index < count; index++) {
      hash = imul(hash ^ (threads[index] as number), hashPrime);
      hash = imul(hash ^ (starts[index] as number), hashPrime);
    }
    const alike = this.#states.get(hash);
    const known = alike?.find(
      (one) => one.before === before && areEqual(one.threads, threads, count) && areEqual(one.starts, starts, count),
    );
    if (known) return known;
    if (this.#held >= maxStates || this.#moves >= maxMoves || this.#threads >= maxThreads) this.#reset();
    const state = this.#buildState(++this.#ids, startCount, before);
    const listed = this.#states.get(hash);
    if (listed) listed.push(state);
    else this.#states.set(hash, [state]);
    this.#held++;
    this.#threads += count;
    return state;
  }

  #reset(): void {
    this.#states.clear();
    this.#held = this.#moves = this.#threads = 0;
    this.resets++;
  }

  #buildState(id: number, startCount: number, before: number): State {
    const { threads, count } = this.#next;
    const ages = this.#ages;
    for (let index = 0; index < startCount; index++) ages[index] = 0;
    for (let index = 0; index < count; index++) {
      const age = this.#distances[threads[index] as number] as number;
      if (age > 0) ages[this.#starts[index] as number] = age;
    }
    return {
      id,
      threads: threads.slice(0, count),
      starts: this.#starts.slice(0, count),
      startCount,
      ages: ages.slice(0, startCount),
      before,
      moves: [],
    };
  }
}

const { imul } = Math;
/** The prime of the hash function FNV-1a. */
const hashPrime = 0x01000193;
const noOrigins: readonly StartIndex[] = [];

function areEqual(one: readonly number[], other: readonly number[], length: number): boolean {
  if (one.length !== length) return false;
  for (let index = 0; index < length; index++) if (one[index] !== other[index]) return false;
  return true;
}
