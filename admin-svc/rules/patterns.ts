/**
 * Finds errors in the patterns of guardrails. A worker thread compiles them: a large pattern takes some 20 ms, the
 * first patterns of a process ten times as long, and a guardrail may have a hundred patterns.
 */
import { Worker } from "node:worker_threads";

export type PatternErrors = readonly (string | null)[];

let thread: PatternThread | undefined;

/**
 * Returns errors by the index of the pattern; null for a valid pattern. Lists are checked one after another, so many
 * guardrails at once occupy only one processor.
 */
export async function findPatternErrors(patterns: readonly string[]): Promise<PatternErrors> {
  if (patterns.length === 0) return [];
  thread ??= new PatternThread(() => (thread = undefined));
  return thread.check(patterns);
}

interface Question {
  readonly resolve: (complaints: PatternErrors) => void;
  readonly reject: (error: unknown) => void;
}

/** The worker thread, started by the first list of patterns. While idle, it does not keep the process alive. */
class PatternThread {
  readonly #worker = new Worker(new URL("./pattern-thread.js", import.meta.url));
  /** Lists of patterns without an answer so far, in the order in which the thread answers. */
  readonly #questions: Question[] = [];

  /** @param onEnd called when the thread has failed and gives no more answers */
  constructor(onEnd: () => void) {
    this.#worker.on("message", (complaints: PatternErrors) => this.#answered(complaints));
    this.#worker.on("error", (error) => {
      onEnd();
      for (const question of this.#questions) question.reject(error);
    });
  }

  check(patterns: readonly string[]): Promise<PatternErrors> {
    this.#worker.ref();
    return new Promise((resolve, reject) => {
      this.#questions.push({ resolve, reject });
      this.#worker.postMessage(patterns);
    });
  }

  #answered(complaints: PatternErrors): void {
    this.#questions.shift()?.resolve(complaints);
    if (this.#questions.length === 0) this.#worker.unref();
  }
}
