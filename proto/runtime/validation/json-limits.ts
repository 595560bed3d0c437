/** How large the JSON texts are that are read at all. */
export const jsonLimits = {
  /** Arrays and objects inside one another. */
  depth: 64,
  /** Values and keys. */
  tokens: 200_000,
  /** Keys of one object. */
  keys: 10_000,
  /** Bytes of one key, as written. */
  keyBytes: 1_024,
  /** Characters of one number. */
  numberLength: 32,
  /** Objects inside one another that may not repeat a key: the body, an item, a part of its content, what that holds. */
  distinctLevels: 4,
} as const;
