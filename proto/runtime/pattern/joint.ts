/**
 * Several patterns as one automaton that is made while texts are read: its states are those that all of them are in at once. What matters to none of
 * them costs what it costs one; where it matters, a move says to whom.
 */
import type { Automaton, Move, Origin, State } from "./automaton.ts";
import type { SymbolId } from "./symbols.ts";

/** Index of a pattern. */
export type Member = number;

export interface JointState {
  /** By member. */
  readonly states: readonly State[];
  /** Members with threads. */
  readonly alive: readonly Member[];
  /** By symbol, as far as they were asked for. */
  readonly moves: (JointMove | undefined)[];
  /** Whose matches end with the text, once that was asked for. */
  ends: readonly JointEnd[] | undefined;
}

export type JointEnd = readonly [Member, Origin];

export interface JointMove {
  readonly to: JointState;
  /** Members that have something to note, and what: both as long as each other. */
  readonly members: readonly Member[];
  readonly noted: readonly Move[];
  /** Whether somebody matches. */
  readonly matches: boolean;
}

/** Some three megabytes for 64 patterns; what does not fit is forgotten with all the rest, and made again when a text needs it. */
const maxStates = 1_000;
const maxMoves = 10_000;
/** The more are read as one, the more states there are. */
export const mostJoined = 64;

export class Joint {
  readonly automata: readonly Automaton[];
  readonly symbols: JointSymbols;
  readonly #states = new Map<string, JointState>();
  #initial: JointState | undefined;
  #moves = 0;
  /** Of all members. */
  #forgotten = 0;

  constructor(automata: readonly Automaton[]) {
    this.automata = automata;
    this.symbols = new JointSymbols(automata);
  }

  /** Before a text. */
  get initial(): JointState {
    return (this.#initial ??= this.#state(this.automata.map(({ initial }) => initial)));
  }

  move(state: JointState, symbol: SymbolId): JointMove {
    return state.moves[symbol] ?? this.#make(state, symbol);
  }

  /** Whose matches end with the text. */
  finish(state: JointState): readonly JointEnd[] {
    return (state.ends ??= state.states.flatMap((own, member) => {
      const hit = this.automata[member]?.finish(own);
      return hit === undefined ? [] : [[member, hit] as const];
    }));
  }

  #make(state: JointState, symbol: SymbolId): JointMove {
    const symbols = this.symbols.ofMembers(symbol);
    const states: State[] = [];
    const members: Member[] = [];
    const noted: Move[] = [];
    let matches = false;
    for (let member = 0; member < this.automata.length; member++) {
      const automaton = this.automata[member] as Automaton;
      const move = automaton.move(state.states[member] as State, symbols[member] as SymbolId);
      states.push(move.to);
      if (move.quiet) continue;
      members.push(member);
      noted.push(move);
      matches ||= move.before !== undefined || move.after !== undefined;
    }
    const made = { to: this.#state(states), members, noted, matches };
    if (!isRemembered(state.states) || !isRemembered(states)) return made;
    state.moves[symbol] = made;
    this.#moves++;
    return made;
  }

  #state(states: readonly State[]): JointState {
    if (!isRemembered(states)) return stateOf(states);
    const name = nameOf(states);
    const known = this.#states.get(name);
    if (known) return known;
    if (this.#states.size >= maxStates || this.#moves >= maxMoves || this.#haveForgotten()) this.#forget();
    const state = stateOf(states);
    this.#states.set(name, state);
    return state;
  }

  /** What members have forgotten is not to be kept here. */
  #haveForgotten(): boolean {
    const before = this.#forgotten;
    this.#forgotten = this.automata.reduce((sum, { forgotten }) => sum + forgotten, 0);
    return this.#forgotten !== before;
  }

  #forget(): void {
    this.#states.clear();
    this.#initial = undefined;
    this.#moves = 0;
  }
}

const stateOf = (states: readonly State[]): JointState => ({
  states,
  alive: states.flatMap(({ threads }, member) => (threads.length > 0 ? [member] : [])),
  moves: [],
  ends: undefined,
});

function isRemembered(states: readonly State[]): boolean {
  for (const { id } of states) if (id === 0) return false;
  return true;
}

function nameOf(states: readonly State[]): string {
  let name = "";
  for (const { id } of states) name += String.fromCharCode(id & 0xffff, id >>> 16);
  return name;
}

const pageSize = 256;

/** The alphabet of all of them: characters that are one symbol to every member are one. */
class JointSymbols {
  readonly #automata: readonly Automaton[];
  /** By code point; 0 until it was seen. */
  readonly #pages: (Uint32Array | undefined)[] = [];
  /** By symbol, which counts from 1, what it is to each member. */
  readonly #members: Uint32Array[] = [new Uint32Array()];
  readonly #known = new Map<string, SymbolId>();

  constructor(automata: readonly Automaton[]) {
    this.#automata = automata;
  }

  of(code: number): SymbolId {
    return this.#pages[code >> 8]?.[code & (pageSize - 1)] || this.#learn(code);
  }

  ofMembers(symbol: SymbolId): Uint32Array {
    return this.#members[symbol] as Uint32Array;
  }

  #learn(code: number): SymbolId {
    const members = Uint32Array.from(this.#automata, ({ program }) => program.symbols.of(code));
    const name = members.join(" ");
    let symbol = this.#known.get(name);
    if (symbol === undefined) {
      symbol = this.#members.push(members) - 1;
      this.#known.set(name, symbol);
    }
    const page = (this.#pages[code >> 8] ??= new Uint32Array(pageSize));
    page[code & (pageSize - 1)] = symbol;
    return symbol;
  }
}
