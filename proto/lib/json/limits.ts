/** Limits for JSON texts. */
export const jsonLimits = {
  /** Nested arrays and objects. */
  depth: 64,
  /** Values and keys of a text. */
  tokens: 200_000,
  /** Keys of one object. */
  keys: 10_000,
  /** Bytes of one key, as written. */
  keyBytes: 1_024,
  /** Characters of one number. */
  numberLength: 32,
  /** Levels of nested objects in which a repeated key is refused: the body, an item, a part of its content, and the objects in it. */
  distinctLevels: 4,
} as const;
