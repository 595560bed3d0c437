/** Limits of a JSON text. */
export const jsonLimits = {
  /** Maximum depth of nested arrays and objects. */
  depth: 64,
  /** Maximum number of values and keys. */
  tokens: 200_000,
  /** Maximum number of keys in an object. */
  keys: 10_000,
  /** Maximum bytes of a key as written, with its escapes. */
  keyBytes: 1_024,
  /** Maximum characters of a number. */
  numberLength: 32,
  /**
   * Number of levels at which repeated keys are refused: the body, an item, a part of the item's content, and the
   * objects in the part.
   */
  distinctLevels: 4,
} as const;
