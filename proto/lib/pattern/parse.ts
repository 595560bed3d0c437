/** Parses a pattern in JavaScript's syntax with the flag u, or with leading flags as in RE2. */
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

/**
 * Maximum length of a pattern: parsing takes about 2 microseconds per character, and must not block the process for 50
 * ms.
 */
const maxLength = 20_000;
/** Maximum depth of nested groups, because the parser and later passes are recursive. */
const maxDepth = 250;

const leadingFlags = /^(?:\(\?[ims]+\))+/;

const parser = new RegExpParser({ ecmaVersion: 2025 });

/** @throws PatternError for a pattern that cannot be parsed or exceeds the limits */
export function parse(source: string): Parsed {
  if (source.length > maxLength) {
    throw new PatternError(`at most ${maxLength} characters, unless it is plain text without operators`);
  }
  if (measureDepth(source) > maxDepth) throw new PatternError(`groups nested deeper than ${maxDepth}`);
  const [letters = ""] = leadingFlags.exec(source) ?? [];
  return {
    root: readPattern(source, letters.length),
    flags: { ignoreCase: letters.includes("i"), multiline: letters.includes("m"), dotAll: letters.includes("s") },
  };
}

function readPattern(source: string, start: number): AST.Pattern {
  try {
    return parser.parsePattern(source, start, source.length, { unicode: true });
  } catch (error) {
    if (!(error instanceof RegExpSyntaxError)) throw error;
    return readLegacy(source, start) ?? refuse(error);
  }
}

/**
 * Parses forms that are valid only without the flag u, if RE2 reads them the same way: `\-`, or a brace outside of a
 * count. Escapes with another meaning in other engines (`\A`, `\pL`, `[[:alpha:]]`) are refused, because such a rule
 * would be in force and never match.
 */
function readLegacy(source: string, start: number): AST.Pattern | undefined {
  const escapes = source.match(/\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|c[a-z]|[^])?/gi) ?? [];
  if (/[\ud800-\udfff]|\[\[[:.=]/.test(source) || !escapes.every((escape) => sharedEscape.test(escape)))
    return undefined;
  try {
    return parser.parsePattern(source, start, source.length, { unicode: false });
  } catch {
    return undefined;
  }
}

const sharedEscape = /^\\(?:[dDwWsSbBnrtvf]|x..|u....|c.|[^\w])$/;

function refuse({ message, index }: RegExpSyntaxError): never {
  const reason = message.slice(message.lastIndexOf(": ") + 2);
  throw new PatternError(`not a valid pattern: ${reason} (character ${index + 1})`);
}

/** Depth of nested groups, measured without recursion, because it decides whether recursion is safe. */
function measureDepth(source: string): number {
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
