/** Threads that read pages: few, of bounded memory, and ended when one page takes too long. */
import { Worker } from "node:worker_threads";
import { Slots } from "../internal/slots.ts";
import type { Parsed, Unparsed } from "./reader-thread.ts";
import { Unread } from "./unread.ts";

const mostThreads = 2;
const heapMebibytes = 256;
const readMs = 3_000;
/** Behind other pages. */
const waitMs = 10_000;
/** Until a thread has read what it consists of, on a machine that has much to do. */
const beginMs = 30_000;

export class Readers {
  readonly #slots = new Slots(mostThreads);
  readonly #idle: Worker[] = [];
  readonly #readMs: number;

  /** @param limitMs of one page; three seconds unless a test has more time */
  constructor(limitMs = readMs) {
    this.#readMs = limitMs;
  }

  /** @throws Unread */
  async read(page: Unparsed): Promise<Parsed> {
    const release = await this.#slots.take(waitMs);
    if (release === undefined) throw new Unread("too many pages are being read");
    try {
      return await this.#readBy(this.#idle.pop() ?? (await opened()), page);
    } finally {
      release();
    }
  }

  async #readBy(thread: Worker, page: Unparsed): Promise<Parsed> {
    // Of its own memory, and not of a pool that others have parts of.
    const html = new Uint8Array(page.html);
    const answer = answerOf(thread, this.#readMs);
    thread.postMessage({ ...page, html } satisfies Unparsed, [html.buffer]);
    const parsed = await answer;
    if (parsed === "none") throw new Unread("a page that takes too much to read");
    this.#idle.push(thread);
    if (parsed === undefined) throw new Unread("a page that cannot be read");
    return parsed;
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((thread) => thread.terminate()));
  }
}

/** Keeps no process alive. */
async function opened(): Promise<Worker> {
  const thread = new Worker(new URL("./reader-thread.js", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMebibytes },
  });
  thread.unref();
  // Out of memory is one; it may come when nobody asks the thread any more.
  thread.on("error", () => {});
  if ((await answerOf(thread, beginMs)) === "none") throw new Unread("a page that cannot be read");
  return thread;
}

/** none: it took too long or too much, and the thread is gone. */
function answerOf(thread: Worker, limitMs: number): Promise<Parsed | undefined | "none"> {
  return new Promise((resolve) => {
    const done = (answer: Parsed | undefined | "none") => {
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
