/** Caches answers and shares running calls: a repeated request buys no second verdict, and a call is aborted only after all its callers have left. */
import { abortFault } from "../../turn/abort.ts";
import { TurnAbort, type TurnSignal } from "../../turn/signal.ts";

/** Some megabytes of verdicts. */
const maxAnswers = 10_000;

interface Asking<Answer> {
  readonly answer: Promise<Answer>;
  readonly abort: TurnAbort;
  waiting: number;
}

export class AnswerCache<Answer> {
  readonly #keptMs: number;
  readonly #now: () => number;
  readonly #isSmall: (answer: Answer) => boolean;
  readonly #kept = new Map<string, { readonly answer: Answer; readonly at: number }>();
  readonly #asking = new Map<string, Asking<Answer>>();

  /**
   * @param keptMs 0: no answer is cached, only shared while its call runs
   * @param isSmall larger answers are not cached either: ten thousand of them would fill the memory
   */
  constructor(keptMs: number, now: () => number, isSmall: (answer: Answer) => boolean = () => true) {
    this.#keptMs = keptMs;
    this.#now = now;
    this.#isSmall = isSmall;
  }

  /** @throws errors of `ask`; Fault as soon as the signal aborts */
  async get(question: string, ask: (signal: TurnSignal) => Promise<Answer>, signal: TurnSignal): Promise<Answer> {
    const kept = this.#kept.get(question);
    if (kept && this.#now() - kept.at < this.#keptMs) return kept.answer;
    const asking = this.#asking.get(question) ?? this.#begin(question, ask);
    asking.waiting++;
    return new Promise((resolve, reject) => {
      const leave = () => {
        reject(abortFault(signal));
        if (--asking.waiting > 0) return;
        // Later callers start a new call, since this call is about to be aborted.
        this.#forget(question, asking);
        asking.abort.abort(signal.reason);
      };
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave);
      asking.answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
    });
  }

  #begin(question: string, ask: (signal: TurnSignal) => Promise<Answer>): Asking<Answer> {
    const abort = new TurnAbort();
    const answer = ask(abort).then((given) => {
      this.#keep(question, given);
      return given;
    });
    const asking: Asking<Answer> = { answer, abort, waiting: 0 };
    this.#asking.set(question, asking);
    answer.catch(() => {}).finally(() => this.#forget(question, asking));
    return asking;
  }

  #forget(question: string, asking: Asking<Answer>): void {
    if (this.#asking.get(question) === asking) this.#asking.delete(question);
  }

  /** Drops the oldest answer at the limit. */
  #keep(question: string, answer: Answer): void {
    if (this.#keptMs === 0 || !this.#isSmall(answer)) return;
    this.#kept.delete(question);
    this.#kept.set(question, { answer, at: this.#now() });
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > maxAnswers && oldest.done !== true) this.#kept.delete(oldest.value);
  }
}
