/**
 * What is wrong with patterns. They are compiled beside the thread that serves: a large one takes some 20 ms, the first ones of a process
 * ten times that, and a guardrail may have a hundred.
 */
import { Worker } from "node:worker_threads";

export type Complaints = readonly (string | null)[];

let thread: PatternThread | undefined;

/** Null where nothing is. One question after the other, so that many guardrails at once take one processor and no more. */
export async function complaintsAbout(patterns: readonly string[]): Promise<Complaints> {
  if (patterns.length === 0) return [];
  thread ??= new PatternThread(() => (thread = undefined));
  return thread.ask(patterns);
}

interface Question {
  readonly resolve: (complaints: Complaints) => void;
  readonly reject: (error: unknown) => void;
}

/** Begun by the first question; it keeps no process alive that has none. */
class PatternThread {
  readonly #worker = new Worker(new URL("./pattern-thread.js", import.meta.url));
  /** The thread answers in this order. */
  readonly #asked: Question[] = [];

  /** @param onEnd it answers nothing any more */
  constructor(onEnd: () => void) {
    this.#worker.on("message", (complaints: Complaints) => this.#answered(complaints));
    this.#worker.on("error", (error) => {
      onEnd();
      for (const question of this.#asked) question.reject(error);
    });
  }

  ask(patterns: readonly string[]): Promise<Complaints> {
    this.#worker.ref();
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject });
      this.#worker.postMessage(patterns);
    });
  }

  #answered(complaints: Complaints): void {
    this.#asked.shift()?.resolve(complaints);
    if (this.#asked.length === 0) this.#worker.unref();
  }
}
