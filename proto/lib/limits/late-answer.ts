/**
 * Calls to Redis that were not answered in time. Whether such a call counts is known only when its answer arrives or
 * its connection closes.
 */

/** Error of a call that Redis did not answer in time, and may still run. */
export class LateAnswerError extends Error {
  /** Settles with the late answer; rejects when the call has failed, or when its connection closes first. */
  readonly answer: Promise<unknown>;

  constructor(message: string, answer: Promise<unknown>) {
    super(message);
    this.answer = answer;
    // Nobody may be waiting for the late answer, so its rejection must not end the process.
    answer.catch(() => {});
  }
}

/** Outcome of a call: `counted` or `refused` by Redis, or `lost`, as far as is known. */
export type Outcome = "counted" | "refused" | "lost";

/**
 * Determines the outcome of a failed call. Redis answers in order, so a late answer arrives before Redis learns of
 * anything counted meanwhile.
 * @param error of the call
 * @returns undefined when the call was lost
 */
export function lateOutcome(error: unknown): Promise<Outcome> | undefined {
  if (!(error instanceof LateAnswerError)) return undefined;
  return error.answer.then(
    // The answer of every script begins with the limit that refused, or an empty text.
    (reply) => ((reply as readonly unknown[])[0] === "" ? "counted" : "refused"),
    () => "lost",
  );
}
