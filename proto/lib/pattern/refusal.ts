/** The reason for refusing a pattern, in words for its author. */
export class PatternError extends Error {
  override readonly name = "PatternError";
}

/** The error for syntax without a linear-time implementation. */
export const notLinearError = (what: string): PatternError =>
  new PatternError(`${what} not supported: patterns must match in linear time`);
