/**
 * Scans a text with an automaton. It finds the same matches as the native `matchAll`, and reads every character once.
 */
import type { Automaton, State } from "./automaton.ts";
import type { Found, Scan } from "./finder.ts";
import { Threads } from "./threads.ts";
import { unitAt } from "../text/unit-at.ts";

/** The state of a running scan. */
export interface ScanState {
  readonly state: State;
  readonly threads: Threads;
  /** Number of UTF-16 units read so far. */
  readonly position: number;
  /** First half of a surrogate pair at the end of the text so far. */
  readonly half: string;
}

export class PatternScan implements Scan {
  readonly #automaton: Automaton;
  readonly #prefix: string;
  readonly #threads: Threads;
  #state: State;
  #position: number;
  #half: string;

  /** @param reading state of a scan to continue; nothing else may use it */
  constructor(automaton: Automaton, reading?: ScanState) {
    this.#automaton = automaton;
    this.#prefix = automaton.program.prefix;
    this.#state = reading?.state ?? automaton.initial;
    this.#threads = reading?.threads ?? new Threads();
    this.#position = reading?.position ?? 0;
    this.#half = reading?.half ?? "";
  }

  push(piece: string): Found {
    const text = this.#half === "" ? piece : this.#half + piece;
    const whole = lengthOfWholeCharacters(text);
    this.#half = whole === text.length ? "" : text.slice(whole);
    this.#read(text, whole);
    return this.#found();
  }

  end(): Found {
    this.#read(this.#half, this.#half.length);
    this.#half = "";
    const hit = this.#automaton.finish(this.#state);
    if (hit !== undefined) this.#threads.hit(hit, this.#position, this.#state.ages);
    this.#state = this.#automaton.restState(0);
    return this.#found();
  }

  fork(): Scan {
    const state = this.#state;
    const threads = this.#threads.fork(state.startCount);
    return new PatternScan(this.#automaton, { state, threads, position: this.#position, half: this.#half });
  }

  #read(text: string, length: number): void {
    const { symbols } = this.#automaton.program;
    const offset = this.#position;
    let state = this.#state;
    for (let index = 0; index < length; ) {
      if (state.threads.length === 0 && this.#prefix !== "") {
        const next = this.#skip(text, index, length);
        if (next > index) {
          state = this.#automaton.restState(symbols.contextOf(symbols.symbolOf(unitAt(text, next - 1))));
          index = next;
          if (index >= length) break;
        }
      }
      let code = unitAt(text, index);
      // `codePointAt` is slower, and needed only at the first half of a surrogate pair.
      if (code >= 0xd800 && code <= 0xdbff) code = text.codePointAt(index) as number;
      const symbol = symbols.symbolOf(code);
      const move = state.moves[symbol] ?? this.#automaton.move(state, symbol);
      const after = code > 0xffff ? index + 2 : index + 1;
      if (!move.quiet) this.#threads.take(move, offset + index, offset + after);
      state = move.to;
      index = after;
    }
    this.#state = state;
    this.#position = offset + length;
  }

  /** Position of the next possible start of a match, when no thread is alive. */
  #skip(text: string, from: number, length: number): number {
    const last = length - this.#prefix.length;
    if (from > last) return from;
    const next = text.indexOf(this.#prefix, from);
    return next === -1 || next > last ? last + 1 : next;
  }

  #found(): Found {
    const isAlive = this.#state.threads.length > 0;
    const spans = this.#threads.takeSettled(this.#state, this.#position);
    return { spans, decided: isAlive ? this.#threads.startIn(this.#state, this.#position) : this.#position };
  }
}

/** Length of the text without the first half of a surrogate pair at its end. */
export function lengthOfWholeCharacters(text: string): number {
  const last = unitAt(text, text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
}
