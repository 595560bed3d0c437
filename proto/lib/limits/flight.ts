/**
 * Shares one Redis call between requests of the same key: requests that arrive while a call of the key is running wait
 * for its answer and then share the next call.
 */
import { LateAnswerError } from "./late-answer.ts";

/**
 * Answer of a script with three fields for each request: the limit that refused it, and the state of the request and
 * token buckets.
 */
export type StepAnswers = readonly string[];
const fieldsOfStep = 3;
/** Maximum number of requests in a call, which take Redis some 0.3 ms. */
const maxSteps = 128;

export class Flight {
  /** Settles with the answers for all requests of the call. */
  readonly answers: Promise<StepAnswers>;
  readonly args: readonly number[];
  #steps = 0;
  #resolve!: (answers: StepAnswers | Promise<StepAnswers>) => void;

  /** @param args arguments of the script, which are the same for all requests of the call */
  constructor(args: readonly number[]) {
    this.args = args;
    this.answers = new Promise((resolve) => (this.#resolve = resolve));
  }

  get steps(): number {
    return this.#steps;
  }

  /** @returns whether a request with these arguments can join the call */
  takes(args: readonly number[]): boolean {
    return this.#steps < maxSteps && args.every((arg, n) => arg === this.args[n]);
  }

  /** Adds a request to the call. @returns its part of the answer; rejects when the call fails */
  join(): Promise<StepAnswers> {
    const from = fieldsOfStep * this.#steps++;
    const part = (answers: StepAnswers): StepAnswers => answers.slice(from, from + fieldsOfStep);
    return this.answers.then(part, (error: unknown) => {
      if (!(error instanceof LateAnswerError)) throw error;
      throw new LateAnswerError(
        error.message,
        error.answer.then((answers) => part(answers as StepAnswers)),
      );
    });
  }

  leave(answers: Promise<StepAnswers>): void {
    this.#resolve(answers);
  }
}
