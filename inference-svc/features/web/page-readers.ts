/** A pool of threads that parse pages, with bounded memory. A thread is ended when a page takes too long. */
import { Worker } from "node:worker_threads";
import { ConcurrencySlots } from "../../turn/concurrency-slots.ts";
import type { ParsedPage, RawPage } from "./reader-thread.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";

const maxThreads = 2;
const heapMebibytes = 256;
const readMs = 3_000;
/** Maximum milliseconds a page waits for a free thread. */
const waitMs = 10_000;
/** Maximum milliseconds for loading the modules of a thread on a busy machine. */
const beginMs = 30_000;

export class PageReaders {
  readonly #slots = new ConcurrencySlots(maxThreads);
  readonly #idle: Worker[] = [];
  readonly #readMs: number;

  /** @param limitMs milliseconds for one page; tests use more than the default */
  constructor(limitMs = readMs) {
    this.#readMs = limitMs;
  }

  /** Parses a page. @throws PageUnreadable */
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
    // A copy is sent, because a Buffer from Node's pool cannot be transferred to a thread.
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

/** Starts a thread. Threads do not keep the process alive. */
async function opened(): Promise<Worker> {
  const thread = new Worker(new URL("./reader-thread.js", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMebibytes },
  });
  thread.unref();
  // A thread that runs out of memory emits an error, possibly while it parses no page.
  thread.on("error", () => {});
  if ((await answerOf(thread, beginMs)) === "none") throw new PageUnreadable("a page that cannot be read");
  return thread;
}

/** Result of a thread; "none" when the thread was ended because it exceeded its time or memory. */
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
