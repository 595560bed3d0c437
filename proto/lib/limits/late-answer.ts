/** Steps whose answer by Redis was late: whether they count is known only when the answer comes, or the connection has closed. */

/** Redis did not answer in time, and may still run the step. */
export class LateAnswerError extends Error {
  /** Settles with the answer; rejects when the step has failed, or when its connection closes first. */
  readonly answer: Promise<unknown>;

  constructor(message: string, answer: Promise<unknown>) {
    super(message);
    this.answer = answer;
    // A caller whose step came to nothing by itself asks for no answer, and a failed one is no fault of the process.
    answer.catch(() => {});
  }
}

/** Whether Redis has counted a step, has refused it, or has neither, as far as is known. */
export type Outcome = "counted" | "refused" | "lost";

/**
 * Tells what became of a failed step. Redis answers in order, so a late answer comes before Redis is told of anything counted meanwhile.
 * @param error of the step
 * @returns undefined when the step was lost
 */
export function lateOutcome(error: unknown): Promise<Outcome> | undefined {
  if (!(error instanceof LateAnswerError)) return undefined;
  return error.answer.then(
    // Every script begins its answer with the limit that refused.
    (reply) => ((reply as readonly unknown[])[0] === "" ? "counted" : "refused"),
    () => "lost",
  );
}
