/**
 * Limits how many states of a pattern's program can be alive at once, for any text, because each takes time at every
 * character. The limit considers all texts with the same last characters, so a list of many words does not count like
 * one long repetition.
 */
import { Follower } from "./follow.ts";
import type { Program } from "./program.ts";
import { PatternError } from "./refusal.ts";
import type { AcceptIndex, SymbolId } from "./symbols.ts";

/**
 * Maximum number of states alive at once: with as many, 20,000 characters take less than a second (`npm test --
 * proto/pattern-work`).
 */
export const maxAliveStates = 1_050;
/** Maximum number of preceding characters that are considered. */
const maxDepth = 8;
/** Number of visited states, about a tenth of a second, after which a pattern counts as too complex. */
const maxVisits = 8_000_000;

/** @throws PatternError when more than `maxAliveStates` states can be alive at once */
export function checkAliveStates(program: Program): void {
  if (program.instructions.length > maxAliveStates && new Search(program).exceeds([])) {
    throw new PatternError(`too complex: more than ${maxAliveStates} states alive at once`);
  }
}

interface Accepting {
  readonly at: number;
  readonly to: number | undefined;
}

class Search {
  readonly #program: Program;
  readonly #follower: Follower;
  readonly #symbols: readonly SymbolId[];
  /** Accepting instructions by the characters they accept. */
  readonly #byAccepted = new Map<AcceptIndex, Accepting[]>();
  #visits = 0;

  constructor(program: Program) {
    this.#program = program;
    this.#follower = new Follower(program);
    this.#symbols = program.symbols.examples();
    for (const [at, one] of program.instructions.entries()) {
      if (one.op !== "accept") continue;
      const those = this.#byAccepted.get(one.accepted);
      if (those) those.push({ at, to: one.to });
      else this.#byAccepted.set(one.accepted, [{ at, to: one.to }]);
    }
  }

  /** Whether some text with this ending may keep too many states alive, as far as the ending shows. */
  exceeds(ending: readonly SymbolId[]): boolean {
    if (this.#visits > maxVisits) return true;
    if (ending.length > 0 && this.#countAfter(ending) <= maxAliveStates) return false;
    if (ending.length === maxDepth) return true;
    return this.#symbols.some((symbol) => this.exceeds([symbol, ...ending]));
  }

  /** Number of states alive after the last symbol, if every state may have been alive before the first. */
  #countAfter(symbols: readonly SymbolId[]): number {
    let alive: readonly number[] = [];
    let visited = 0;
    for (const [index, symbol] of symbols.entries()) {
      const next: number[] = [];
      const accepting = index === 0 ? this.#acceptingAnywhere(symbol) : this.#acceptingOf(alive, symbol);
      this.#follower.startPosition();
      visited = 0;
      for (const { at, to = at + 1 } of accepting) visited += this.#follower.reach(to, next);
      // Threads that start at every character only take one comparison each and are not counted: a list of words starts
      // with all of them.
      if (index < symbols.length - 1) this.#visits += this.#follower.reach(0, next);
      this.#visits += alive.length + visited;
      alive = next;
    }
    return visited;
  }

  #acceptingAnywhere(symbol: SymbolId): readonly Accepting[] {
    return this.#program.symbols.acceptedBy(symbol).flatMap((accepted) => this.#byAccepted.get(accepted) ?? []);
  }

  #acceptingOf(alive: readonly number[], symbol: SymbolId): readonly Accepting[] {
    const accepts = this.#program.symbols.acceptance(symbol);
    return alive.flatMap((at) => {
      const one = this.#program.instructions[at];
      return one?.op === "accept" && accepts[one.accepted] === 1 ? [{ at, to: one.to }] : [];
    });
  }
}
