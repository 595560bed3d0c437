/** Scans a text with several patterns at once. The matches are the same as in separate scans. */
import type { Automaton, State } from "./automaton.ts";
import type { Scan, TextSpan } from "./finder.ts";
import {
  type JointAutomaton,
  type JointTransition,
  type JointState,
  type MemberIndex,
  asciiCharacters,
} from "./joint.ts";
import { PatternScan, lengthOfWholeCharacters } from "./scan.ts";
import { Threads } from "./threads.ts";
import { unitAt } from "../text/unit-at.ts";

/** Results of a joint scan, with the matches of each pattern. */
export interface JointFound {
  readonly spans: readonly (readonly [MemberIndex, readonly TextSpan[]])[];
  /** Position before which all patterns are decided. */
  readonly decided: number;
}

export class JointScan {
  readonly #joint: JointAutomaton;
  #state: JointState;
  /** Starts and matches of each pattern, allocated when it first has one to remember. */
  readonly #threads: (Threads | undefined)[] = [];
  /** Whether some pattern may have matches that are not reported yet. */
  #hasReserved = false;
  #position = 0;
  /** First half of a surrogate pair at the end of the text so far. */
  #half = "";

  constructor(joint: JointAutomaton) {
    this.#joint = joint;
    this.#state = joint.initial;
  }

  push(piece: string): JointFound {
    const text = this.#half === "" ? piece : this.#half + piece;
    const whole = lengthOfWholeCharacters(text);
    this.#half = whole === text.length ? "" : text.slice(whole);
    this.#read(text, whole);
    return { spans: this.#takeSettled(), decided: this.#decided };
  }

  end(): JointFound {
    this.#read(this.#half, this.#half.length);
    this.#half = "";
    for (const [member, origin] of this.#joint.finish(this.#state)) {
      this.#threadsOf(member).hit(origin, this.#position, this.#stateOf(member).ages);
      this.#hasReserved = true;
    }
    this.#state = this.#joint.initial;
    const spans = this.#takeSettled();
    for (const threads of this.#threads) threads?.close();
    this.#threads.length = 0;
    return { spans, decided: this.#position };
  }

  /** Copies the scan in its current state. */
  fork(): JointScan {
    const fork = new JointScan(this.#joint);
    fork.#state = this.#state;
    for (const [member, threads] of this.#threads.entries()) {
      const { startCount } = this.#stateOf(member);
      if (threads && (startCount > 0 || threads.hasReserved)) fork.#threads[member] = threads.fork(startCount);
    }
    fork.#hasReserved = this.#hasReserved;
    fork.#position = this.#position;
    fork.#half = this.#half;
    return fork;
  }

  /** Splits the scan into one for each pattern; it must not be used afterwards. */
  split(): readonly Scan[] {
    return this.#joint.automata.map((automaton: Automaton, member) => {
      const reading = { state: this.#stateOf(member), threads: this.#threadsOf(member) };
      return new PatternScan(automaton, { ...reading, position: this.#position, half: this.#half });
    });
  }

  get #decided(): number {
    let decided = this.#position;
    for (const member of this.#state.alive) {
      const state = this.#stateOf(member);
      // Starts must be remembered only where their age varies.
      const age = state.ages[0] as number;
      const start = age > 0 ? this.#position - age : this.#threadsOf(member).startIn(state, this.#position);
      if (start < decided) decided = start;
    }
    return decided;
  }

  #read(text: string, length: number): void {
    const joint = this.#joint;
    const { symbols } = joint;
    const offset = this.#position;
    let state = this.#state;
    for (let index = 0; index < length; ) {
      let code = unitAt(text, index);
      const next = code < asciiCharacters ? state.next[code] : undefined;
      if (next !== undefined) {
        state = next;
        index++;
        continue;
      }
      // `codePointAt` is slower, and needed only at the first half of a surrogate pair.
      if (code >= 0xd800 && code <= 0xdbff) code = text.codePointAt(index) as number;
      const symbol = symbols.of(code);
      const move = state.moves[symbol] ?? joint.move(state, symbol);
      const after = code > 0xffff ? index + 2 : index + 1;
      if (move.members.length > 0) this.#note(move, offset + index, offset + after);
      else if (code < asciiCharacters && state.moves[symbol] === move) state.next[code] = move.to;
      state = move.to;
      index = after;
    }
    this.#state = state;
    this.#position = offset + length;
  }

  #note({ members, noted, matches }: JointTransition, from: number, until: number): void {
    for (let index = 0; index < members.length; index++) {
      this.#threadsOf(members[index] as MemberIndex).take(
        noted[index] as JointTransition["noted"][number],
        from,
        until,
      );
    }
    if (matches) this.#hasReserved = true;
  }

  #takeSettled(): JointFound["spans"] {
    if (!this.#hasReserved) return nothing;
    const all: [MemberIndex, readonly TextSpan[]][] = [];
    this.#hasReserved = false;
    for (const [member, threads] of this.#threads.entries()) {
      if (!threads?.hasReserved) continue;
      const spans = threads.takeSettled(this.#stateOf(member), this.#position);
      if (spans.length > 0) all.push([member, spans]);
      this.#hasReserved ||= threads.hasReserved;
    }
    return all;
  }

  #stateOf(member: MemberIndex): State {
    return this.#state.states[member] as State;
  }

  #threadsOf(member: MemberIndex): Threads {
    return (this.#threads[member] ??= Threads.open());
  }
}

const nothing: JointFound["spans"] = [];
