/** Processes that read PDFs. Each has one at a time: when that ends it, by memory or by time, no other turn knows. */
import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { Slots } from "../../internal/slots.ts";
import { abortFault, throwIfAborted } from "../../turn/abort.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import { FileProblem, NotRead } from "../problem.ts";
import { pdfLimits } from "./limits.ts";

export interface PdfText {
  readonly pages: number;
  readonly text: string;
  /** The rest is left out. */
  readonly truncated: boolean;
}

/** What such a process says. */
export type Said =
  | { readonly type: "ready" }
  | { readonly type: "opened"; readonly pages: number }
  | { readonly type: "read"; readonly read: PdfText }
  | { readonly type: "unreadable"; readonly why: string };

/** Who came first is read first; nobody waits longer than this for others. */
const longestWaitMs = 20_000;
const startMs = 30_000;
/** A process that has nothing to do for so long is ended. */
const idleMs = 60_000;

/** Each takes up to 400 MiB of a PDF that means harm: what a pod has room for beside the rest. */
const mostReaders = availableParallelism() > 2 ? 2 : 1;

/** Milliseconds for a PDF, until its pages have been counted and again after that, and for each of its pages. */
export interface PdfTimes {
  readonly baseMs: number;
  readonly pageMs: number;
}

export class PdfReaders {
  readonly #times: PdfTimes;
  readonly #slots = new Slots(mostReaders);
  #idle: Reader[] = [];
  #ending: NodeJS.Timeout | undefined;

  constructor(times: PdfTimes = pdfLimits) {
    this.#times = times;
  }

  /** @throws FileProblem, NotRead; Fault when the turn is over */
  async read(bytes: Uint8Array, signal: TurnSignal): Promise<PdfText> {
    throwIfAborted(signal);
    const leave = await this.#slots.take(longestWaitMs);
    if (leave === undefined) throw new NotRead("all readers are busy");
    try {
      throwIfAborted(signal);
      return await this.#read(bytes, signal);
    } finally {
      leave();
    }
  }

  /** Those that have nothing to do; the others end with their turns. */
  close(): void {
    clearTimeout(this.#ending);
    for (const reader of this.#idle) reader.end();
    this.#idle = [];
  }

  async #read(bytes: Uint8Array, signal: TurnSignal): Promise<PdfText> {
    const reader = this.#idle.pop() ?? new Reader(this.#times);
    try {
      return await reader.read(bytes, signal);
    } finally {
      if (!reader.isOver) this.#keep(reader);
    }
  }

  #keep(reader: Reader): void {
    this.#idle.push(reader);
    clearTimeout(this.#ending);
    this.#ending = setTimeout(() => this.close(), idleMs).unref();
  }
}

/** After so many a process is followed by a new one: what they have left behind is nobody's. */
const mostRead = 50;

class Reader {
  readonly #process: ChildProcess = fork(new URL("./reader.js", import.meta.url), [], {
    // A heap of its own, and nothing of what this process knows.
    execArgv: [`--max-old-space-size=${pdfLimits.heapMib}`, "--disable-warning=ExperimentalWarning"],
    env: {},
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  readonly #times: PdfTimes;
  #isReady = false;
  #read = 0;
  isOver = false;

  constructor(times: PdfTimes) {
    this.#times = times;
    const over = () => (this.isOver = true);
    this.#process.on("error", over).on("exit", over);
  }

  /** @throws as PdfReaders.read */
  async read(bytes: Uint8Array, signal: TurnSignal): Promise<PdfText> {
    this.#process.ref();
    this.#process.channel?.ref();
    try {
      return await this.#ask(bytes, signal);
    } finally {
      if (++this.#read >= mostRead) this.end();
      // It keeps no process alive that waits for nothing of it.
      this.#process.unref();
      this.#process.channel?.unref();
    }
  }

  end(): void {
    this.isOver = true;
    this.#process.kill("SIGKILL");
  }

  #ask(bytes: Uint8Array, signal: TurnSignal): Promise<PdfText> {
    return new Promise((resolve, reject) => {
      const reader = this.#process;
      const { baseMs, pageMs } = this.#times;
      let timer: NodeJS.Timeout | undefined;
      const leave = () => {
        clearTimeout(timer);
        reader.off("message", hear).off("exit", ended).off("error", ended);
        signal.removeEventListener("abort", aborted);
      };
      const stop = (error: unknown) => {
        leave();
        this.end();
        reject(error);
      };
      const within = (ms: number, late: () => Error) => {
        clearTimeout(timer);
        timer = setTimeout(() => stop(late()), ms);
      };
      const send = () => {
        reader.send(bytes);
        within(baseMs, () => tooSlow(baseMs));
      };
      const hear = (said: Said) => {
        if (said.type === "ready") {
          this.#isReady = true;
          return send();
        }
        if (said.type === "opened") {
          const ms = baseMs + said.pages * pageMs;
          return within(ms, () => tooSlow(ms));
        }
        leave();
        if (said.type === "read") resolve(said.read);
        else reject(new FileProblem(`the PDF ${said.why}`));
      };
      const aborted = () => stop(abortFault(signal));
      // What it says before it goes is heard before this.
      const ended = (cause: unknown) =>
        stop(this.#isReady ? new FileProblem(tooLarge) : new NotRead("no reader could be started", { cause }));
      reader.on("message", hear).on("exit", ended).on("error", ended);
      signal.addEventListener("abort", aborted);
      if (this.#isReady) send();
      else within(startMs, () => new NotRead("no reader began in time"));
    });
  }
}

/** Complete the path of the file. */
const tooLarge = "the PDF takes more memory than one file may";
const tooSlow = (ms: number) => new FileProblem(`the PDF takes longer than ${ms / 1_000} s to read`);
