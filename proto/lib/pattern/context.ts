/** The context of a position in a text, for assertions such as `^` and `\b`: the characters before and after it. */

/** Bits that describe one side of a position. */
export const context = {
  /** The text starts or ends here. */
  edge: 1,
  lineEnd: 2,
  word: 4,
  /** A word character under the flag `i`, which adds two characters to the usual word characters. */
  anyCaseWord: 8,
} as const;

/** Context bits of a character; 0 for most characters. */
export function contextOf(character: string): number {
  if (/^[\n\r\u2028\u2029]$/.test(character)) return context.lineEnd;
  if (/^\w$/.test(character)) return context.word | context.anyCaseWord;
  return /^\w$/iu.test(character) ? context.anyCaseWord : 0;
}

/** All contexts that one side of a position can have. */
export const contexts: readonly number[] = [
  0,
  context.edge,
  context.lineEnd,
  context.anyCaseWord,
  context.word | context.anyCaseWord,
];

export interface Assertion {
  /** Context bits that the assertion tests. */
  readonly mask: number;
  /** Whether the assertion can be tested before the next character is known. */
  readonly backward: boolean;
  holds(before: number, after: number): boolean;
}

export const lineStart = (multiline: boolean): Assertion => {
  const mask = multiline ? context.edge | context.lineEnd : context.edge;
  return { mask, backward: true, holds: (before) => (before & mask) !== 0 };
};

export const lineEnd = (multiline: boolean): Assertion => {
  const mask = multiline ? context.edge | context.lineEnd : context.edge;
  return { mask, backward: false, holds: (_, after) => (after & mask) !== 0 };
};

/** @param negated whether the position must not be a word boundary */
export const wordBorder = (ignoreCase: boolean, negated: boolean): Assertion => {
  const mask = ignoreCase ? context.anyCaseWord : context.word;
  return {
    mask,
    backward: false,
    holds: (before, after) => ((before & mask) !== (after & mask)) !== negated,
  };
};
