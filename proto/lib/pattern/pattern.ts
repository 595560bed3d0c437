/** Compiles users' patterns into finders. */
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

/** A text without operators and without lone surrogates. */
const plain = /^[^\\^$.*+?()[\]{}|\p{Surrogate}]+$/u;

/**
 * Matches like JavaScript with the flags g and u, in linear time. Compiling takes 20 ms at worst, and 120 ms for a pattern near the limits.
 * @throws PatternError
 */
export function compilePattern(source: string): Finder {
  const finder = compileStoredPattern(source);
  if (finder instanceof Pattern) checkAliveStates(finder.automaton.program);
  return finder;
}

/**
 * Compiles a pattern accepted when it was stored. It stays in force even if it would be refused today: then it takes more time in total, in steps of the
 * same length.
 * @throws PatternError
 */
export function compileStoredPattern(source: string): Finder {
  return plain.test(source) ? new Literal(source) : new Pattern(compileProgram(parse(source)));
}

/** Steps in about 10 ms, measured on texts that need a new state at every character. */
const stepsPerPiece = 250_000;
/** Steps in about 2 ms, for patterns whose long texts need new states at every character. */
const stepsPerShortPiece = 50_000;
/** Steps per character below which a pattern soon needs known states only. Short pieces took 20 KB more of memory for a request under 50 such patterns. */
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

/** Whether the pattern matches the empty string at some position, and so in every text. */
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
