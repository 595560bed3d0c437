/** Random patterns, texts with near matches, and cuts of a text. All use few characters, so matches collide. */
import type { Random } from "../../../support/random.ts";

export interface PatternCase {
  readonly patterns: readonly string[];
  /** Texts in pieces; some pieces end with half a character. */
  readonly texts: readonly (readonly string[])[];
}

interface Written {
  readonly source: string;
  /** Whether the pattern can match the empty text. */
  readonly nullable: boolean;
  /** Whether the pattern contains a lazy quantifier. */
  readonly lazy: boolean;
  /** Whether the pattern can match a text in several ways. */
  readonly branches: boolean;
  /** Whether a repeated part can match in several ways, all of which the native engine may try. */
  readonly explodes: boolean;
}

const characters = ["a", "b", "c", "A", "B", "1", " ", "-", "\n", "\u00e9", "\u{1f600}", "\u{1f601}", "\ud83d"];
const classes = [
  "[ab]",
  "[^a]",
  "[a-c1]",
  "[^b\\s]",
  "\\w",
  "\\d",
  "\\s",
  "\\W",
  ".",
  "\\p{L}",
  "[\u{1f600}-\u{1f64f}]",
];
const assertions = ["\\b", "\\B", "^", "$"];

/** Number of texts for each pattern; several, since compiling a pattern takes longer than reading a text. */
export const textsPerCase = 10;

/** Maximum length in UTF-16 units, which is short since the native engine takes polynomial time for some patterns. */
const longest = 24;
const longestExploding = 8;

export function generatePatternCase(random: Random): PatternCase {
  const patterns = Array.from({ length: 1 + random.below(4) }, () => patternOf(random));
  const limit = patterns.some(({ explodes }) => explodes) ? longestExploding : longest;
  return {
    patterns: patterns.map(({ source }) => source),
    texts: Array.from({ length: textsPerCase }, () => piecesOf(random, limit)),
  };
}

function piecesOf(random: Random, limit: number): readonly string[] {
  const units = 1 + random.below(limit);
  let text = "";
  while (text.length < units) text += random.pick(characters);
  return splitAnywhere(text, random);
}

/** Cuts a text anywhere, also within a character. */
export function splitAnywhere(text: string, random: Random): readonly string[] {
  const pieces: string[] = [];
  const longestPiece = 1 + random.below(6);
  for (let at = 0; at < text.length; ) {
    const length = 1 + random.below(longestPiece);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

function patternOf(random: Random): Written {
  const flags = random.chance(0.2) ? `(?${random.pick(["i", "s", "m", "im", "ims"])})` : "";
  const written = either(random, 0);
  return { ...written, source: flags + written.source };
}

function either(random: Random, depth: number): Written {
  const count = random.chance(0.7) ? 1 : 2 + random.below(2);
  const alternatives = Array.from({ length: count }, () => sequence(random, depth));
  return {
    source: alternatives.map(({ source }) => source).join("|"),
    nullable: alternatives.some(({ nullable }) => nullable),
    lazy: alternatives.some(({ lazy }) => lazy),
    branches: count > 1 || alternatives.some(({ branches }) => branches),
    explodes: alternatives.some(({ explodes }) => explodes),
  };
}

function sequence(random: Random, depth: number): Written {
  const count = 1 + random.below(depth === 0 ? 4 : 2);
  const elements = Array.from({ length: count }, () => element(random, depth));
  return {
    source: elements.map(({ source }) => source).join(""),
    nullable: elements.every(({ nullable }) => nullable),
    lazy: elements.some(({ lazy }) => lazy),
    branches: elements.some(({ branches }) => branches),
    explodes: elements.some(({ explodes }) => explodes),
  };
}

const plain = { lazy: false, branches: false, explodes: false };

function element(random: Random, depth: number): Written {
  if (random.chance(0.1)) return { source: random.pick(assertions), nullable: true, ...plain };
  const one = atom(random, depth);
  return random.chance(0.35) ? repeated(one, random) : one;
}

function atom(random: Random, depth: number): Written {
  if (depth < 2 && random.chance(0.3)) {
    const inner = either(random, depth + 1);
    return { ...inner, source: `${random.pick(["(", "(?:"])}${inner.source})` };
  }
  if (random.chance(0.3)) return { source: random.pick(classes), nullable: false, ...plain };
  // Half a character cannot be written in a pattern.
  return { source: random.pick(characters.slice(0, -1)), nullable: false, ...plain };
}

/**
 * Repeats a pattern. A lazy pattern that can be empty is not repeated, and a pattern that can be empty gets no optional copies: in these cases the
 * native engine backtracks to a longer match, and an automaton does not.
 */
function repeated(one: Written, random: Random): Written {
  const { source, nullable, lazy } = one;
  if (nullable && lazy) return one;
  const operator = random.pick(nullable ? ["*", "+"] : ["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"]);
  const reluctant = operator !== "{2}" && random.chance(0.25);
  return {
    source: `${source}${operator}${reluctant ? "?" : ""}`,
    nullable: nullable || /^[*?]|^\{0/.test(operator),
    lazy: lazy || reluctant,
    branches: one.branches || operator !== "{2}",
    explodes: one.explodes || (one.branches && operator !== "?" && operator !== "{2}"),
  };
}
