/**
 * Caches answers of internal calls, and shares running calls: a repeated question costs no second call, and a call is
 * aborted only after all its callers have left.
 */
import { abortFault } from "../../turn/abort.ts";
import { TurnAbort, type TurnSignal } from "../../turn/signal.ts";

/** Maximum number of cached answers; verdicts then take some megabytes. */
const maxAnswers = 10_000;

interface PendingAnswer<Answer> {
  readonly answer: Promise<Answer>;
  readonly abort: TurnAbort;
  waiting: number;
}

export class AnswerCache<Answer> {
  readonly #keptMs: number;
  readonly #now: () => number;
  readonly #isSmall: (answer: Answer) => boolean;
  readonly #kept = new Map<string, { readonly answer: Answer; readonly at: number }>();
  readonly #pending = new Map<string, PendingAnswer<Answer>>();

  /**
   * @param keptMs milliseconds for which an answer is cached; with 0, it is only shared while its call runs
   * @param isSmall whether an answer may be cached: ten thousand larger ones would fill the memory
   */
  constructor(keptMs: number, now: () => number, isSmall: (answer: Answer) => boolean = () => true) {
    this.#keptMs = keptMs;
    this.#now = now;
    this.#isSmall = isSmall;
  }

  /** Answers a question from the cache or by a call. @throws errors of `ask`; Fault as soon as the signal aborts */
  async get(
    question: string,
    fetchAnswer: (signal: TurnSignal) => Promise<Answer>,
    signal: TurnSignal,
  ): Promise<Answer> {
    const kept = this.#kept.get(question);
    if (kept && this.#now() - kept.at < this.#keptMs) return kept.answer;
    const pending = this.#pending.get(question) ?? this.#begin(question, fetchAnswer);
    pending.waiting++;
    return new Promise((resolve, reject) => {
      const leave = () => {
        reject(abortFault(signal));
        if (--pending.waiting > 0) return;
        // Later callers start a new call, since this call is about to be aborted.
        this.#forget(question, pending);
        pending.abort.abort(signal.reason);
      };
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave);
      pending.answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
    });
  }

  #begin(question: string, fetchAnswer: (signal: TurnSignal) => Promise<Answer>): PendingAnswer<Answer> {
    const abort = new TurnAbort();
    const answer = fetchAnswer(abort).then((given) => {
      this.#keep(question, given);
      return given;
    });
    const pending: PendingAnswer<Answer> = { answer, abort, waiting: 0 };
    this.#pending.set(question, pending);
    answer.catch(() => {}).finally(() => this.#forget(question, pending));
    return pending;
  }

  #forget(question: string, pending: PendingAnswer<Answer>): void {
    if (this.#pending.get(question) === pending) this.#pending.delete(question);
  }

  /** Caches an answer. At the limit, the oldest answer is dropped. */
  #keep(question: string, answer: Answer): void {
    if (this.#keptMs === 0 || !this.#isSmall(answer)) return;
    this.#kept.delete(question);
    this.#kept.set(question, { answer, at: this.#now() });
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > maxAnswers && oldest.done !== true) this.#kept.delete(oldest.value);
  }
}
