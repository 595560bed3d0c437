/** A pool of reader processes for documents. Each reads one at a time, so a document that exhausts memory or time ends no other turn. */
import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { ConcurrencySlots } from "../../../turn/concurrency-slots.ts";
import { abortFault, throwIfAborted } from "../../../turn/abort.ts";
import type { DocumentKind } from "../../../turn/file-text.ts";
import type { TurnSignal } from "../../../turn/signal.ts";
import { FileProblem, FileReadUnavailable } from "../problem.ts";
import { documentLimits } from "./limits.ts";

export interface DocumentText {
  /** Number of pages; only set for a PDF. */
  readonly pages?: number;
  readonly text: string;
  /** Texts missing from `text`, such as deleted text. */
  readonly beside?: readonly string[];
  /** Whether the text was truncated. */
  readonly truncated: boolean;
}

/** A message to a reader process. */
export interface DocumentMessage {
  readonly kind: DocumentKind;
  readonly bytes: Uint8Array;
}

/** A message from a reader process. */
export type ReaderMessage =
  | { readonly type: "ready" }
  | { readonly type: "opened"; readonly pages: number }
  | { readonly type: "read"; readonly text: DocumentText }
  /** The document has no text here. `why` is the reason; without it, the document is damaged. */
  | { readonly type: "unreadable"; readonly why?: string };

/** Longest wait in the FIFO queue for a reader process. */
const maxWaitMs = 20_000;
const startMs = 30_000;
/** An unused process ends after this time. */
const idleMs = 60_000;

/** Maximum number of reader processes. A hostile document can take up to 400 MiB in its process: all the memory a pod can spare. */
const maxReaders = availableParallelism() > 2 ? 2 : 1;

/** Milliseconds for a document: until the pages of a PDF are counted, the same again afterwards, and more for each page. */
export interface ReadTimes {
  readonly baseMs: number;
  readonly pageMs: number;
}

export class DocumentReaders {
  readonly #times: ReadTimes;
  readonly #slots = new ConcurrencySlots(maxReaders);
  #idle: Reader[] = [];
  #ending: NodeJS.Timeout | undefined;

  constructor(times: ReadTimes = documentLimits) {
    this.#times = times;
  }

  /** Reads a document. @throws FileProblem, FileReadUnavailable; Fault when the turn is over */
  async read(document: DocumentMessage, signal: TurnSignal): Promise<DocumentText> {
    throwIfAborted(signal);
    const leave = await this.#slots.take(maxWaitMs);
    if (leave === undefined) throw new FileReadUnavailable("all readers are busy");
    try {
      throwIfAborted(signal);
      return await this.#read(document, signal);
    } finally {
      leave();
    }
  }

  /** Ends the idle reader processes; busy ones end with their turns. */
  close(): void {
    clearTimeout(this.#ending);
    for (const reader of this.#idle) reader.end();
    this.#idle = [];
  }

  async #read(document: DocumentMessage, signal: TurnSignal): Promise<DocumentText> {
    const reader = this.#idle.pop() ?? new Reader(this.#times);
    try {
      return await reader.read(document, signal);
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

/** Maximum documents per process; then it is replaced, to limit leaks. */
const maxReadsPerProcess = 50;

class Reader {
  readonly #process: ChildProcess = fork(new URL("./reader.js", import.meta.url), [], {
    // An empty environment keeps the secrets of this process out of the reader.
    execArgv: [`--max-old-space-size=${documentLimits.heapMib}`, "--disable-warning=ExperimentalWarning"],
    env: {},
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  readonly #times: ReadTimes;
  #isReady = false;
  #read = 0;
  isOver = false;

  constructor(times: ReadTimes) {
    this.#times = times;
    const over = () => (this.isOver = true);
    this.#process.on("error", over).on("exit", over);
  }

  /** Reads a document. @throws FileProblem, FileReadUnavailable; Fault when the turn is over */
  async read(document: DocumentMessage, signal: TurnSignal): Promise<DocumentText> {
    this.#process.ref();
    this.#process.channel?.ref();
    try {
      return await this.#requestReading(document, signal);
    } finally {
      if (++this.#read >= maxReadsPerProcess) this.end();
      // An idle reader must not keep this process alive.
      this.#process.unref();
      this.#process.channel?.unref();
    }
  }

  end(): void {
    this.isOver = true;
    this.#process.kill("SIGKILL");
  }

  #requestReading({ kind, bytes }: DocumentMessage, signal: TurnSignal): Promise<DocumentText> {
    return new Promise((resolve, reject) => {
      const reader = this.#process;
      const { baseMs, pageMs } = this.#times;
      let timer: NodeJS.Timeout | undefined;
      const leave = () => {
        clearTimeout(timer);
        reader.off("message", onMessage).off("exit", onExit).off("error", onExit);
        signal.removeEventListener("abort", onAbort);
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
        reader.send({ kind, bytes } satisfies DocumentMessage);
        within(baseMs, () => tooSlow(kind, baseMs));
      };
      const onMessage = (message: ReaderMessage) => {
        if (message.type === "ready") {
          this.#isReady = true;
          return send();
        }
        if (message.type === "opened") {
          const ms = baseMs + message.pages * pageMs;
          return within(ms, () => tooSlow(kind, ms));
        }
        leave();
        if (message.type === "read") resolve(message.text);
        else reject(new FileProblem(`${nameKind(kind)} ${message.why ?? damaged(kind)}`));
      };
      const onAbort = () => stop(abortFault(signal));
      // Node delivers the messages of a process before its exit event.
      const onExit = (cause: unknown) =>
        stop(
          this.#isReady
            ? new FileProblem(`${nameKind(kind)} takes more memory than one file may`)
            : new FileReadUnavailable("no reader could be started", { cause }),
        );
      reader.on("message", onMessage).on("exit", onExit).on("error", onExit);
      signal.addEventListener("abort", onAbort);
      if (this.#isReady) send();
      else within(startMs, () => new FileReadUnavailable("no reader began in time"));
    });
  }
}

/** Ends of error messages that start with the path of the file. */
const tooSlow = (kind: DocumentKind, ms: number) =>
  new FileProblem(`${nameKind(kind)} takes longer than ${ms / 1_000} s to read`);
const damaged = (kind: DocumentKind): string => `is damaged, or no ${kind.toUpperCase()}`;

const nameKind = (kind: DocumentKind): string => (kind === "pdf" ? "the PDF" : `the ${kind.toUpperCase()} file`);
