/** Compiles patterns of users into finders. */
import { checkAliveStates } from "./alive.ts";
import { Automaton } from "./automaton.ts";
import { contexts } from "./context.ts";
import type { Finder, Scan } from "./finder.ts";
import { Follower } from "./follow.ts";
import { Literal } from "./literal.ts";
import { parse } from "./parse.ts";
import { type Program, compileProgram } from "./program.ts";
import { PatternError } from "./refusal.ts";
import { PatternScan } from "./scan.ts";

/** Matches a pattern that is a plain text, without operators and lone surrogates. */
const plain = /^[^\\^$.*+?()[\]{}|\p{Surrogate}]+$/u;

/**
 * Compiles a pattern, which then matches as in JavaScript with the flags g and u, but in linear time. Compiling takes
 * 20 ms at worst, or 120 ms near the limits.
 * @throws PatternError for a pattern that cannot be parsed, is too large, or needs more than linear time
 */
export function compilePattern(source: string): Finder {
  const finder = compileStoredPattern(source);
  if (finder instanceof Pattern) checkAliveStates(finder.automaton.program);
  return finder;
}

/**
 * Compiles a pattern that was accepted when it was stored. It stays in force even if it would be refused today: it then
 * takes more time in total, but pauses as often.
 * @throws PatternError for a pattern that cannot be parsed
 */
export function compileStoredPattern(source: string): Finder {
  return plain.test(source) ? new Literal(source) : new Pattern(compileProgram(parse(source)));
}

/** Number of steps in about 10 ms, measured on texts that need a new state at every character. */
const stepsPerPiece = 250_000;
/** Number of steps in about 2 ms, for patterns that may need new states at every character of long texts. */
const stepsPerShortPiece = 50_000;
/**
 * Number of steps per character below which a pattern soon needs only known states. With short pieces, a request under
 * 50 such patterns took 20 KB more memory.
 */
const maxSmall = 400;

class Pattern implements Finder {
  readonly pieceLength: number;
  readonly automaton: Automaton;

  constructor(program: Program) {
    if (matchesEmpty(program)) throw new PatternError("must not match the empty string");
    this.automaton = new Automaton(program);
    const steps = stepsPerCharacter(program);
    this.pieceLength = Math.max(1, Math.floor((steps > maxSmall ? stepsPerShortPiece : stepsPerPiece) / steps));
  }

  open(): Scan {
    return new PatternScan(this.automaton);
  }
}

/** Maximum number of steps per character. */
const stepsPerCharacter = ({ instructions, symbols }: Program): number => instructions.length + 10 * symbols.classes;

/** Whether the pattern matches the empty string at some position, and so matches every text. */
function matchesEmpty(program: Program): boolean {
  const follower = new Follower(program);
  // A pattern without assertions does not depend on the context.
  const surroundings = program.symbols.mask === 0 ? [0] : contexts;
  return surroundings.some((before) =>
    surroundings.some((after) => {
      follower.startPosition();
      follower.follow(0, before, after, [], 0);
      return follower.matched;
    }),
  );
}
