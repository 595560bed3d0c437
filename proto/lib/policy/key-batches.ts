/**
 * Reads policies of keys from admin-svc. While few calls are running, each call reads one key; keys requested meanwhile
 * share a call.
 *
 * After a change of all keys, a process needs each of its keys again. With one call per key, admin-svc refused calls of
 * the whole account for minutes, and a fifth of the requests found no policy; a further key in a call takes a small
 * part of the time of another call.
 */
import { type PolicyAnswer, isUnreachable } from "./reader.ts";
import type { TraceHeaders } from "../tracing/context.ts";

/**
 * Maximum number of concurrent calls of a process. With several, a slow call does not delay the others; with few, a
 * busy admin-svc gets fewer and larger calls.
 */
const maxCalls = 4;
/**
 * Maximum number of keys in a call in addition to the first. It limits the work for one call, because other calls wait
 * meanwhile.
 */
export const maxFurtherKeys = 100;

/**
 * Reads keys with one call. @returns their answers in order; the last ones may be missing, but not the first
 * @throws the error of the call
 */
export type ReadKeys<Value> = (
  keyHashes: readonly [string, ...string[]],
  trace: TraceHeaders | undefined,
) => Promise<readonly PolicyAnswer<Value>[]>;

interface Question<Value> {
  readonly keyHash: string;
  readonly trace: TraceHeaders | undefined;
  readonly answered: (answer: PolicyAnswer<Value>) => void;
  readonly failed: (error: unknown) => void;
}

export class KeyBatches<Value> {
  readonly #readKeys: ReadKeys<Value>;
  #waiting: Question<Value>[] = [];
  #calls = 0;

  constructor(readKeys: ReadKeys<Value>) {
    this.#readKeys = readKeys;
  }

  /** Reads a key, possibly together with others. @throws the error of the call */
  request(keyHash: string, trace: TraceHeaders | undefined): Promise<PolicyAnswer<Value>> {
    return new Promise((answered, failed) => {
      this.#waiting.push({ keyHash, trace, answered, failed });
      this.#next();
    });
  }

  #next(): void {
    if (this.#calls >= maxCalls) return;
    const [first, ...further] = this.#waiting.splice(0, 1 + maxFurtherKeys);
    if (first) void this.#call([first, ...further]);
  }

  async #call(questions: readonly [Question<Value>, ...Question<Value>[]]): Promise<void> {
    this.#calls++;
    const [first, ...further] = questions;
    try {
      const answers = await this.#readKeys([first.keyHash, ...further.map(({ keyHash }) => keyHash)], first.trace);
      answers.forEach((answer, place) => questions[place]?.answered(answer));
      for (const question of questions.slice(answers.length)) void this.#callAlone(question);
    } catch (error) {
      this.#failed(questions, error);
    } finally {
      this.#calls--;
      this.#next();
    }
  }

  /**
   * Fails waiting keys too when admin-svc is unavailable: their calls would use the same connection and wait as long
   * again.
   */
  #failed(questions: readonly Question<Value>[], error: unknown): void {
    if (!isUnreachable(error) && questions.length > 1)
      return questions.forEach((question) => void this.#callAlone(question));
    const waiting = isUnreachable(error) ? this.#waiting.splice(0) : [];
    for (const { failed } of [...questions, ...waiting]) failed(error);
  }

  /**
   * Reads each key in a separate call: an admin-svc of an earlier build only answers the first key, and one invalid
   * policy must not fail the others.
   */
  async #callAlone({ keyHash, trace, answered, failed }: Question<Value>): Promise<void> {
    try {
      const [answer] = await this.#readKeys([keyHash], trace);
      answered(answer as PolicyAnswer<Value>);
    } catch (error) {
      failed(error);
    }
  }
}
