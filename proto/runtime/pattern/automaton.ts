/**
 * A pattern as an automaton that is made while texts are read: a state is what threads of the program are alive, in the order in which they are
 * preferred. Where each began is not part of the state, but of whoever reads; a move says who continues whom.
 */
import { Follower, unknown } from "./follow.ts";
import { context } from "./context.ts";
import type { Instruction, Program } from "./program.ts";
import type { SymbolId } from "./symbols.ts";

export interface State {
  /** Its own among those that are remembered, from 1 on; 0: it is not. */
  readonly id: number;
  /** Instructions that wait for a character, or for what stands after the position; those that begin at the position are not among them. */
  readonly threads: readonly number[];
  /** What stands before the position. */
  readonly before: number;
  /** By symbol, as far as they were asked for. */
  readonly moves: (Move | undefined)[];
}

/** Index of a thread of the state before, or: it began at the position before the symbol. */
export type Origin = number;
export const begun: Origin = -1;

export interface Move {
  readonly to: State;
  /** Nobody matches, and whoever is alive after it remains what it was. */
  readonly quiet: boolean;
  /** Whose match ends before the symbol, since what comes after is known now. What is preferred less is gone. */
  readonly before: Origin | undefined;
  /** Whose match ends after the symbol. */
  readonly after: Origin | undefined;
  /** As many first threads remain what they are. */
  readonly kept: number;
  /** Of each of the others, whom it continues. */
  readonly origins: readonly Origin[];
}

/** One or two megabytes a pattern; what does not fit is forgotten with all the rest, and made again when a text needs it. */
const maxStates = 1_000;
const maxMoves = 10_000;
/** A state with more threads hardly comes again. */
const maxRemembered = 256;

interface Alive {
  readonly threads: number[];
  readonly origins: Origin[];
  readonly hit: Origin | undefined;
}

export class Automaton {
  readonly program: Program;
  readonly #follower: Follower;
  /** What each instruction accepts, if it does. */
  readonly #accepted: Int32Array;
  /** Where it goes on then. */
  readonly #behind: Int32Array;
  readonly #states = new Map<string, State>();
  /** Threads that begin, by what stands before. */
  readonly #beginning = new Map<number, readonly number[]>();
  #moves = 0;
  #ids = 0;
  /** How often everything that was remembered was forgotten. */
  forgotten = 0;

  constructor(program: Program) {
    this.program = program;
    this.#follower = new Follower(program);
    this.#accepted = Int32Array.from(program.instructions, (one) => (one.op === "accept" ? one.accepted : -1));
    this.#behind = Int32Array.from(program.instructions, (one, at) => (one.op === "accept" ? (one.to ?? at + 1) : -1));
  }

  /** Before a text. */
  get initial(): State {
    return this.atRest(context.edge & this.program.symbols.mask);
  }

  /** Nobody is alive but who begins here. */
  atRest(before: number): State {
    return this.#state([], before);
  }

  move(state: State, symbol: SymbolId): Move {
    const known = state.moves[symbol];
    if (known) return known;
    const move = this.#make(state, symbol);
    if (Math.max(state.threads.length, move.to.threads.length) > maxRemembered) return move;
    state.moves[symbol] = move;
    this.#moves++;
    return move;
  }

  /** Whose match ends with the text. */
  finish(state: State): Origin | undefined {
    return this.#answer(state, context.edge).hit;
  }

  #make(state: State, symbol: SymbolId): Move {
    const after = this.program.symbols.contextOf(symbol);
    const ready = this.#answer(state, after);
    const next = this.#step(ready, symbol, after);
    const to = this.#state(next.threads, after);
    let kept = 0;
    while (kept < next.origins.length && next.origins[kept] === kept) kept++;
    return {
      to,
      before: ready.hit,
      after: next.hit,
      quiet: kept === next.origins.length && ready.hit === undefined && next.hit === undefined,
      kept,
      origins: next.origins.slice(kept),
    };
  }

  /** Everybody who can take a character, once it is known what stands after the position. */
  #answer(state: State, after: number): Alive {
    const beginning = this.#begin(state.before);
    if (this.program.symbols.mask === 0) return unasked(state.threads, beginning);
    const threads: number[] = [];
    const origins: Origin[] = [];
    this.#follower.begin();
    const matches = (at: number, origin: Origin): boolean => {
      const matched = this.#answerOne(at, state.before, after, threads);
      fill(origins, origin, threads.length);
      return matched;
    };
    const hit = state.threads.findIndex(matches);
    for (const at of beginning) matches(at, begun);
    return { threads, origins, hit: hit === -1 ? undefined : hit };
  }

  #answerOne(at: number, before: number, after: number, threads: number[]): boolean {
    if (!this.#follower.first(at)) return false;
    const instruction = this.program.instructions[at] as Instruction;
    if (instruction.op !== "assert") threads.push(at);
    else if (instruction.assertion.holds(before, after)) {
      return this.#follower.follow(at + 1, before, after, threads);
    }
    return false;
  }

  #step(ready: Alive, symbol: SymbolId, before: number): Alive {
    const threads: number[] = [];
    const origins: Origin[] = [];
    const accepts = this.program.symbols.acceptance(symbol);
    this.#follower.begin();
    for (let index = 0; index < ready.threads.length; index++) {
      const at = ready.threads[index] as number;
      if (accepts[this.#accepted[at] as number] !== 1) continue;
      const origin = ready.origins[index] as Origin;
      const matched = this.#follower.follow(this.#behind[at] as number, before, unknown, threads);
      fill(origins, origin, threads.length);
      if (matched) return { threads, origins, hit: origin };
    }
    return { threads, origins, hit: undefined };
  }

  #begin(before: number): readonly number[] {
    const known = this.#beginning.get(before);
    if (known) return known;
    const threads: number[] = [];
    this.#follower.begin();
    this.#follower.follow(0, before, unknown, threads);
    this.#beginning.set(before, threads);
    return threads;
  }

  #state(threads: readonly number[], before: number): State {
    if (threads.length > maxRemembered) return { id: 0, threads, before, moves: [] };
    const name = String.fromCharCode(before, ...threads);
    const known = this.#states.get(name);
    if (known) return known;
    if (this.#states.size >= maxStates || this.#moves >= maxMoves) {
      this.#states.clear();
      this.#moves = 0;
      this.forgotten++;
    }
    const state = { id: ++this.#ids, threads, before, moves: [] };
    this.#states.set(name, state);
    return state;
  }
}

/** Where there are no assertions nothing depends on what comes after. */
function unasked(threads: readonly number[], beginning: readonly number[]): Alive {
  const origins: Origin[] = [];
  for (let index = 0; index < threads.length; index++) origins.push(index);
  fill(origins, begun, threads.length + beginning.length);
  return { threads: [...threads, ...beginning], origins, hit: undefined };
}

function fill(origins: Origin[], origin: Origin, length: number): void {
  while (origins.length < length) origins.push(origin);
}
