/** Error for a refused pattern; its text is written for the pattern's author. */
export class PatternError extends Error {
  override readonly name = "PatternError";
}

/** Builds the error for syntax that cannot be matched in linear time. */
export const notLinearError = (what: string): PatternError =>
  new PatternError(`${what} not supported: patterns must match in linear time`);
