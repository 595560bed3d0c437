/** Reads the source of a pattern: JavaScript's syntax with the flag u, and flags in front as RE2 has them. */
import { type AST, RegExpParser, RegExpSyntaxError } from "@eslint-community/regexpp";
import { PatternError } from "./refusal.ts";

export interface Flags {
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly dotAll: boolean;
}

export interface Parsed {
  readonly root: AST.Pattern;
  readonly flags: Flags;
}

/** Reading takes some 2 microseconds a character, and nobody may be held up for 50 ms. */
const maxLength = 20_000;
/** The reader is recursive, and so is whoever walks what it read. */
const maxDepth = 250;

const leading = /^(?:\(\?[ims]+\))+/;

const parser = new RegExpParser({ ecmaVersion: 2025 });

/** @throws PatternError */
export function parse(source: string): Parsed {
  if (source.length > maxLength) {
    throw new PatternError(`at most ${maxLength} characters, unless it is plain text without operators`);
  }
  if (depthOf(source) > maxDepth) throw new PatternError(`groups within groups, more than ${maxDepth} deep`);
  const [letters = ""] = leading.exec(source) ?? [];
  return {
    root: read(source, letters.length),
    flags: { ignoreCase: letters.includes("i"), multiline: letters.includes("m"), dotAll: letters.includes("s") },
  };
}

function read(source: string, start: number): AST.Pattern {
  try {
    return parser.parsePattern(source, start, source.length, { unicode: true });
  } catch (error) {
    if (!(error instanceof RegExpSyntaxError)) throw error;
    return readOlder(source, start) ?? refuse(error);
  }
}

/**
 * What the older syntax reads as itself and RE2 does too: `\-`, a brace that counts nothing. Not what it reads as itself and another engine as
 * something else (`\A`, `\pL`, `[[:alpha:]]`): such a rule would be in force and find nothing.
 */
function readOlder(source: string, start: number): AST.Pattern | undefined {
  const escapes = source.match(/\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|c[a-z]|[^])?/gi) ?? [];
  if (/[\ud800-\udfff]|\[\[[:.=]/.test(source) || !escapes.every((escape) => known.test(escape))) return undefined;
  try {
    return parser.parsePattern(source, start, source.length, { unicode: false });
  } catch {
    return undefined;
  }
}

const known = /^\\(?:[dDwWsSbBnrtvf]|x..|u....|c.|[^\w])$/;

function refuse({ message, index }: RegExpSyntaxError): never {
  const reason = message.slice(message.lastIndexOf(": ") + 2);
  throw new PatternError(`not a valid pattern: ${reason} (character ${index + 1})`);
}

/** How deep groups are within one another, at most: without recursion, for it decides whether there may be any. */
function depthOf(source: string): number {
  let depth = 0;
  let deepest = 0;
  let inClass = false;
  for (let index = 0; index < source.length; index++) {
    const character = source[index];
    if (character === "\\") index++;
    else if (inClass) inClass = character !== "]";
    else if (character === "[") inClass = true;
    else if (character === "(") deepest = Math.max(deepest, ++depth);
    else if (character === ")") depth--;
  }
  return deepest;
}
