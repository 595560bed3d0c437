/**
 * Reads one text with an automaton: finds what `matchAll` of the native engine finds, without reading anything twice.
 *
 * Threads that are preferred to a match that was found may still replace it. Until they have ended it stands under reserve, and the search goes
 * on behind it as if it was final; what is found there stands under reserve too. A thread of that search that comes to where a thread of an
 * earlier one is need not be followed: if it succeeds, so does the earlier one, and takes everything behind it along. So there are never more
 * threads than instructions, however much stands under reserve.
 */
import { type Automaton, type Move, type Origin, type State, begun } from "./automaton.ts";
import { context } from "./context.ts";
import type { Found, Scan, Span } from "./finder.ts";

/** Of the move that is being taken; nobody else takes one meanwhile. */
const continuedStarts: number[] = [];
const continuedRanks: number[] = [];

export class PatternScan implements Scan {
  readonly #automaton: Automaton;
  readonly #prefix: string;
  #state: State;
  /** Of each thread of the state where it began, and how many matches come before its own; what is behind them is of threads that have ended. */
  #starts: number[] = [];
  #ranks: number[] = [];
  /** Matches that no thread is left to replace are told and dropped. */
  #reserved: Span[] = [];
  /** How many were told. */
  #told = 0;
  /** Length of what was read. */
  #position = 0;
  /** The first half of a character whose other half may come. */
  #half = "";

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
    this.#prefix = automaton.program.prefix;
    this.#state = automaton.atRest(context.edge & automaton.program.symbols.mask);
  }

  push(piece: string): Found {
    const text = this.#half === "" ? piece : this.#half + piece;
    const whole = isHigh(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length;
    this.#half = whole === text.length ? "" : text.slice(whole);
    this.#read(text, whole);
    return this.#found();
  }

  end(): Found {
    this.#read(this.#half, this.#half.length);
    this.#half = "";
    const hit = this.#automaton.finish(this.#state);
    if (hit !== undefined) this.#hit(hit, this.#position, this.#position);
    this.#state = this.#automaton.atRest(0);
    return this.#found();
  }

  #read(text: string, length: number): void {
    const { symbols } = this.#automaton.program;
    const offset = this.#position;
    let state = this.#state;
    for (let index = 0; index < length; ) {
      if (state.threads.length === 0 && this.#prefix !== "") {
        const next = this.#skip(text, index, length);
        if (next > index) {
          state = this.#automaton.atRest(symbols.contextOf(symbols.of(text.charCodeAt(next - 1))));
          index = next;
          if (index >= length) break;
        }
      }
      const code = text.codePointAt(index) as number;
      const symbol = symbols.of(code);
      const move = state.moves[symbol] ?? this.#automaton.move(state, symbol);
      const after = code > 0xffff ? index + 2 : index + 1;
      if (!move.quiet) this.#take(move, offset + index, offset + after);
      state = move.to;
      index = after;
    }
    this.#state = state;
    this.#position = offset + length;
  }

  /** Where a match can begin at the earliest, when nobody is alive. */
  #skip(text: string, from: number, length: number): number {
    const last = length - this.#prefix.length;
    if (from > last) return from;
    const next = text.indexOf(this.#prefix, from);
    return next === -1 || next > last ? last + 1 : next;
  }

  #take({ before, after, kept, origins }: Move, from: number, until: number): void {
    if (before !== undefined) this.#hit(before, from, from);
    const open = this.#told + this.#reserved.length;
    const [start, rank] = after === undefined ? [0, 0] : this.#of(after, from);
    this.#continue(kept, origins, from, open);
    if (after !== undefined) this.#reserve(start, until, rank);
  }

  #hit(origin: Origin, from: number, until: number): void {
    const [start, rank] = this.#of(origin, from);
    this.#reserve(start, until, rank);
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

  #found(): Found {
    const alive = this.#state.threads.length > 0;
    const final = alive ? (this.#ranks[0] as number) - this.#told : this.#reserved.length;
    const spans = final === 0 ? nothing : this.#reserved.splice(0, final);
    this.#told += final;
    return { spans, decided: alive ? (this.#starts[0] as number) : this.#position };
  }
}

const nothing: readonly Span[] = [];

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
