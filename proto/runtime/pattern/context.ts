/** What an assertion can ask of the characters on both sides of a position. */

/** Bits of what stands on one side. */
export const context = {
  /** The text begins or ends here. */
  edge: 1,
  lineEnd: 2,
  word: 4,
  /** A word character where case does not count: two more than otherwise. */
  anyCaseWord: 8,
} as const;

/** Of a character; 0 for most. */
export function contextOf(character: string): number {
  if (/^[\n\r\u2028\u2029]$/.test(character)) return context.lineEnd;
  if (/^\w$/.test(character)) return context.word | context.anyCaseWord;
  return /^\w$/iu.test(character) ? context.anyCaseWord : 0;
}

/** Every one that a position can have on a side. */
export const contexts: readonly number[] = [
  0,
  context.edge,
  context.lineEnd,
  context.anyCaseWord,
  context.word | context.anyCaseWord,
];

export interface Assertion {
  /** The bits that it looks at. */
  readonly mask: number;
  /** Whether it can be answered before the next character is known. */
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

/** @param negated whether there must be no border of a word */
export const wordBorder = (ignoreCase: boolean, negated: boolean): Assertion => {
  const mask = ignoreCase ? context.anyCaseWord : context.word;
  return {
    mask,
    backward: false,
    holds: (before, after) => ((before & mask) !== (after & mask)) !== negated,
  };
};
