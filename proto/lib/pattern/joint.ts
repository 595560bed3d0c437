/**
 * Combines several patterns into one automaton, built lazily while texts are read. A joint state is the list of the
 * patterns' states. If no pattern has anything to record, a transition takes as long as with a single pattern;
 * otherwise the transition lists the patterns concerned.
 */
import type { Automaton, Transition, StartIndex, State } from "./automaton.ts";
import type { SymbolId } from "./symbols.ts";

/** Index of a pattern in the joint automaton. */
export type MemberIndex = number;

export interface JointState {
  /** State of each pattern. */
  readonly states: readonly State[];
  /** Indexes of the patterns with live threads. */
  readonly alive: readonly MemberIndex[];
  /** Transitions by symbol, filled on first use. */
  readonly moves: (JointTransition | undefined)[];
  /** The next state by ASCII character if no pattern has anything to record; filled on first use. */
  readonly next: (JointState | undefined)[];
  /** Matches that end with the text, computed on first use. */
  ends: readonly JointEnd[] | undefined;
}

export type JointEnd = readonly [MemberIndex, StartIndex];

export interface JointTransition {
  readonly to: JointState;
  /** Indexes of the patterns with something to record; `noted` has their transitions at the same index. */
  readonly members: readonly MemberIndex[];
  readonly noted: readonly Transition[];
  /** Whether any of the patterns has a match. */
  readonly matches: boolean;
}

/** Maximum sizes of the cache, about 4 MB for 64 patterns. A full cache is emptied and filled again. */
const maxStates = 1_000;
const maxMoves = 10_000;
/** Maximum number of patterns in a joint automaton; with more patterns there are more states. */
export const maxMembers = 64;

export class JointAutomaton {
  readonly automata: readonly Automaton[];
  readonly symbols: JointSymbols;
  readonly #states = new Map<string, JointState>();
  #initial: JointState | undefined;
  #moves = 0;
  /** Sum of the patterns' resets when the cache was last checked. */
  #memberResets = 0;

  constructor(automata: readonly Automaton[]) {
    this.automata = automata;
    this.symbols = new JointSymbols(automata);
  }

  /** The state before the start of a text. */
  get initial(): JointState {
    return (this.#initial ??= this.#state(this.automata.map(({ initial }) => initial)));
  }

  move(state: JointState, symbol: SymbolId): JointTransition {
    return state.moves[symbol] ?? this.#buildMove(state, symbol);
  }

  /** Matches that end with the text. */
  finish(state: JointState): readonly JointEnd[] {
    return (state.ends ??= state.states.flatMap((own, member) => {
      const hit = this.automata[member]?.finish(own);
      return hit === undefined ? [] : [[member, hit] as const];
    }));
  }

  #buildMove(state: JointState, symbol: SymbolId): JointTransition {
    const symbols = this.symbols.ofMembers(symbol);
    const states: State[] = [];
    const members: MemberIndex[] = [];
    const noted: Transition[] = [];
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
    if (!areCached(state.states) || !areCached(states)) return made;
    state.moves[symbol] = made;
    this.#moves++;
    return made;
  }

  #state(states: readonly State[]): JointState {
    if (!areCached(states)) return buildState(states);
    const name = buildKey(states);
    const known = this.#states.get(name);
    if (known) return known;
    if (this.#states.size >= maxStates || this.#moves >= maxMoves || this.#membersWereReset()) this.#reset();
    const state = buildState(states);
    this.#states.set(name, state);
    return state;
  }

  /** Whether a pattern has emptied its cache, so joint states refer to dropped states. */
  #membersWereReset(): boolean {
    const before = this.#memberResets;
    this.#memberResets = this.automata.reduce((sum, { resets: forgotten }) => sum + forgotten, 0);
    return this.#memberResets !== before;
  }

  #reset(): void {
    this.#states.clear();
    this.#initial = undefined;
    this.#moves = 0;
  }
}

/** Number of ASCII characters, of which most texts consist; a table by character saves looking up their symbols. */
export const asciiCharacters = 128;

const buildState = (states: readonly State[]): JointState => ({
  states,
  alive: states.flatMap(({ threads }, member) => (threads.length > 0 ? [member] : [])),
  moves: [],
  next: Array.from<JointState | undefined>({ length: asciiCharacters }),
  ends: undefined,
});

function areCached(states: readonly State[]): boolean {
  for (const { id } of states) if (id === 0) return false;
  return true;
}

function buildKey(states: readonly State[]): string {
  let name = "";
  for (const { id } of states) name += String.fromCharCode(id & 0xffff, id >>> 16);
  return name;
}

const pageSize = 256;

/** The joint alphabet: characters that have the same symbol in every pattern share a symbol. */
class JointSymbols {
  readonly #automata: readonly Automaton[];
  /** Symbols by page and code point; 0 for a character that has not occurred yet. */
  readonly #pages: (Uint32Array | undefined)[] = [];
  /** The symbols of each pattern by joint symbol, counted from 1. */
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
    const members = Uint32Array.from(this.#automata, ({ program }) => program.symbols.symbolOf(code));
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
