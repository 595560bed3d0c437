/** A pool of threads for parsing pages, with bounded memory; a thread is ended when a page takes too long. */
import { Worker } from "node:worker_threads";
import { ConcurrencySlots } from "../../turn/concurrency-slots.ts";
import type { ParsedPage, RawPage } from "./reader-thread.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";

const maxThreads = 2;
const heapMebibytes = 256;
const readMs = 3_000;
/** Longest wait for a free thread. */
const waitMs = 10_000;
/** Longest time for loading the modules of a thread on a busy machine. */
const beginMs = 30_000;

export class PageReaders {
  readonly #slots = new ConcurrencySlots(maxThreads);
  readonly #idle: Worker[] = [];
  readonly #readMs: number;

  /** @param limitMs time limit of one page; longer in tests */
  constructor(limitMs = readMs) {
    this.#readMs = limitMs;
  }

  /** @throws PageUnreadable */
  async read(page: RawPage): Promise<ParsedPage> {
    const release = await this.#slots.take(waitMs);
    if (release === undefined) throw new PageUnreadable("too many pages are being read");
    try {
      return await this.#readBy(this.#idle.pop() ?? (await opened()), page);
    } finally {
      release();
    }
  }

  async #readBy(thread: Worker, page: RawPage): Promise<ParsedPage> {
    // A copy, because a Buffer from the pool cannot be transferred.
    const html = new Uint8Array(page.html);
    const answer = answerOf(thread, this.#readMs);
    thread.postMessage({ ...page, html } satisfies RawPage, [html.buffer]);
    const parsed = await answer;
    if (parsed === "none") throw new PageUnreadable("a page that takes too much time or memory");
    this.#idle.push(thread);
    if (parsed === undefined) throw new PageUnreadable("a page that cannot be read");
    return parsed;
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((thread) => thread.terminate()));
  }
}

/** Threads do not keep the process alive. */
async function opened(): Promise<Worker> {
  const thread = new Worker(new URL("./reader-thread.js", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMebibytes },
  });
  thread.unref();
  // Running out of memory emits an error, possibly while no page is read.
  thread.on("error", () => {});
  if ((await answerOf(thread, beginMs)) === "none") throw new PageUnreadable("a page that cannot be read");
  return thread;
}

/** "none": the thread was ended for exceeding its time or memory. */
function answerOf(thread: Worker, limitMs: number): Promise<ParsedPage | undefined | "none"> {
  return new Promise((resolve) => {
    const done = (answer: ParsedPage | undefined | "none") => {
      clearTimeout(timer);
      thread.off("message", done).off("error", broken).off("exit", broken);
      resolve(answer);
    };
    const broken = () => {
      done("none");
      void thread.terminate();
    };
    const timer = setTimeout(broken, limitMs);
    thread.on("message", done).on("error", broken).on("exit", broken);
  });
}
