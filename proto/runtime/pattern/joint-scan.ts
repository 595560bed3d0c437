/** Reads one text with several patterns at once: each finds what it finds by itself. */
import type { Automaton, State } from "./automaton.ts";
import type { Scan, Span } from "./finder.ts";
import type { Joint, JointMove, JointState, Member } from "./joint.ts";
import { PatternScan, wholeLength } from "./scan.ts";
import { Threads } from "./threads.ts";

/** As `Found`, of all members. */
export interface JointFound {
  readonly spans: readonly (readonly [Member, readonly Span[]])[];
  /** To nobody anything before it is undecided. */
  readonly decided: number;
}

export class JointScan {
  readonly #joint: Joint;
  #state: JointState;
  /** By member; those who never had something to note have none. */
  readonly #threads: (Threads | undefined)[] = [];
  /** Somebody may have matches that were not told. */
  #reserves = false;
  #position = 0;
  /** The first half of a character whose other half may come. */
  #half = "";

  constructor(joint: Joint) {
    this.#joint = joint;
    this.#state = joint.initial;
  }

  push(piece: string): JointFound {
    const text = this.#half === "" ? piece : this.#half + piece;
    const whole = wholeLength(text);
    this.#half = whole === text.length ? "" : text.slice(whole);
    this.#read(text, whole);
    return { spans: this.#settled(), decided: this.#decided };
  }

  end(): JointFound {
    this.#read(this.#half, this.#half.length);
    this.#half = "";
    for (const [member, origin] of this.#joint.finish(this.#state)) {
      this.#threadsOf(member).hit(origin, this.#position);
      this.#reserves = true;
    }
    this.#state = this.#joint.initial;
    return { spans: this.#settled(), decided: this.#position };
  }

  /** Another reading of what came so far, that goes on by itself. */
  fork(): JointScan {
    const fork = new JointScan(this.#joint);
    fork.#state = this.#state;
    for (const [member, threads] of this.#threads.entries()) {
      const alive = this.#stateOf(member).threads.length;
      if (threads && (alive > 0 || threads.reserves)) fork.#threads[member] = threads.fork(alive);
    }
    fork.#reserves = this.#reserves;
    fork.#position = this.#position;
    fork.#half = this.#half;
    return fork;
  }

  /** Every member going on by itself; this one is not to be used any more. */
  apart(): readonly Scan[] {
    return this.#joint.automata.map((automaton: Automaton, member) => {
      const reading = { state: this.#stateOf(member), threads: this.#threadsOf(member) };
      return new PatternScan(automaton, { ...reading, position: this.#position, half: this.#half });
    });
  }

  get #decided(): number {
    let decided = this.#position;
    for (const member of this.#state.alive) decided = Math.min(decided, this.#threadsOf(member).start);
    return decided;
  }

  #read(text: string, length: number): void {
    const joint = this.#joint;
    const { symbols } = joint;
    const offset = this.#position;
    let state = this.#state;
    for (let index = 0; index < length; ) {
      const code = text.codePointAt(index) as number;
      const symbol = symbols.of(code);
      const move = state.moves[symbol] ?? joint.move(state, symbol);
      const after = code > 0xffff ? index + 2 : index + 1;
      if (move.members.length > 0) this.#note(move, offset + index, offset + after);
      state = move.to;
      index = after;
    }
    this.#state = state;
    this.#position = offset + length;
  }

  #note({ members, noted, matches }: JointMove, from: number, until: number): void {
    for (let index = 0; index < members.length; index++) {
      this.#threadsOf(members[index] as Member).take(noted[index] as JointMove["noted"][number], from, until);
    }
    if (matches) this.#reserves = true;
  }

  #settled(): JointFound["spans"] {
    if (!this.#reserves) return nothing;
    const all: [Member, readonly Span[]][] = [];
    this.#reserves = false;
    for (const [member, threads] of this.#threads.entries()) {
      if (!threads?.reserves) continue;
      const spans = threads.settled(this.#stateOf(member).threads.length > 0);
      if (spans.length > 0) all.push([member, spans]);
      this.#reserves ||= threads.reserves;
    }
    return all;
  }

  #stateOf(member: Member): State {
    return this.#state.states[member] as State;
  }

  #threadsOf(member: Member): Threads {
    return (this.#threads[member] ??= new Threads());
  }
}

const nothing: JointFound["spans"] = [];
