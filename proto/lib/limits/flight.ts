/** Steps of one key that arrive while another one is on its way to Redis: they wait for its answer, and share the next call. */
import { LateAnswerError } from "./late-answer.ts";

/** Answers of a script for each of its steps: the refusing limit, and the use of requests and of tokens. */
export type StepAnswers = readonly string[];
const fieldsOfStep = 3;
/** Longest call, some 0.3 ms of Redis. */
const maxSteps = 128;

export class Flight {
  /** Settles with the answers to all its steps. */
  readonly answers: Promise<StepAnswers>;
  readonly args: readonly number[];
  #steps = 0;
  #resolve!: (answers: StepAnswers | Promise<StepAnswers>) => void;

  /** @param args of the script, equal for all steps */
  constructor(args: readonly number[]) {
    this.args = args;
    this.answers = new Promise((resolve) => (this.#resolve = resolve));
  }

  get steps(): number {
    return this.#steps;
  }

  /** @returns whether a step can share the call */
  takes(args: readonly number[]): boolean {
    return this.#steps < maxSteps && args.every((arg, n) => arg === this.args[n]);
  }

  /** @returns the answer to one more step; rejects as the call */
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
