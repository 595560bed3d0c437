/** Why a text is no pattern of ours: fit to show to whoever wrote it. */
export class PatternError extends Error {
  override readonly name = "PatternError";
}

/** What linear-time engines leave out, in the words of those who miss it. */
export const notLinear = (what: string): PatternError =>
  new PatternError(`${what} not supported: patterns must match in linear time`);
