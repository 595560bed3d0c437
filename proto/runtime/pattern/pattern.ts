/** Patterns as people write them, made into finders. */
import { Automaton } from "./automaton.ts";
import { contexts } from "./context.ts";
import type { Finder, Scan } from "./finder.ts";
import { Follower } from "./follow.ts";
import { Literal } from "./literal.ts";
import { parse } from "./parse.ts";
import { type Program, programOf } from "./program.ts";
import { PatternError } from "./refusal.ts";
import { PatternScan } from "./scan.ts";

/** No operators, and no half of a character. */
const plain = /^[^\\^$.*+?()[\]{}|\p{Surrogate}]+$/u;

/**
 * Takes some 20 ms at most. Finds what JavaScript finds with the flags g and u, in time linear in the text.
 * @throws PatternError
 */
export function compilePattern(source: string): Finder {
  return plain.test(source) ? new Literal(source) : new Pattern(programOf(parse(source)));
}

/** Steps in some ten milliseconds, counted for texts that need a new state at every character. */
const stepsAtOnce = 250_000;

class Pattern implements Finder {
  readonly pieceLength: number;
  readonly automaton: Automaton;

  constructor(program: Program) {
    if (matchesNothing(program)) throw new PatternError("must not match the empty string");
    this.automaton = new Automaton(program);
    this.pieceLength = Math.max(8, Math.floor(stepsAtOnce / sizeOf(program)));
  }

  open(): Scan {
    return new PatternScan(this.automaton);
  }
}

/** Steps that one character costs at most. */
const sizeOf = ({ instructions, symbols }: Program): number => instructions.length + 10 * symbols.classes;

/** Whether some position between two characters is enough for a match: such a pattern is found in every text. */
function matchesNothing(program: Program): boolean {
  const follower = new Follower(program);
  // Without assertions all surroundings are the same.
  const surroundings = program.symbols.mask === 0 ? [0] : contexts;
  return surroundings.some((before) =>
    surroundings.some((after) => {
      follower.begin();
      return follower.follow(0, before, after, []);
    }),
  );
}
