/**
 * Runs a call through an AI SDK package. Parts that arrive in one turn of the event loop are passed on as one batch,
 * and reading pauses while too much waits for the consumer. The call is aborted when the signal aborts, a time limit
 * passes, or the consumer leaves.
 */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";
import type { Account } from "@sluice/proto/lib/load/held-bytes.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { abortFault } from "../../../turn/abort.ts";
import type { TurnSignal } from "../../../turn/signal.ts";
import type { AttemptDeadline } from "../../../turn/scope.ts";
import type { Answer, TurnEvent } from "../../../turn/turn.ts";
import type { Usage } from "../../../turn/usage.ts";
import { connectionLost, providerFailed, providerTimeout } from "../failure.ts";
import { BatchQueue } from "../transport/queue.ts";
import { requestFault, sdkFault } from "./error.ts";
import { type SdkReader, findFileData } from "./stream.ts";

/** Maximum characters of events that wait for the consumer, and of a whole answer. */
const unreadLimit = 256 * 1024;
const answerLimit = 64 * 1024 * 1024;

/** Copies of a part's text in memory: the text and the item built from it, whose characters may take two bytes each. */
const copiesOfPart = 4;
/** Bytes of memory per part, in addition to its text. */
const partBytes = 64;

export interface ModelCall {
  /** Finds the model; throws if the package does not know it. */
  readonly model: () => LanguageModelV4;
  readonly options: LanguageModelV4CallOptions;
  readonly timeouts: { readonly headers_ms: number; readonly first_event_ms: number; readonly idle_ms: number };
  readonly deadline: AttemptDeadline;
  readonly signal: TurnSignal;
  /** Memory account of the answer. */
  readonly held: Account;
  /** Whether the answer streams; false for requests that get the whole answer at once. */
  readonly stream: boolean;
  readonly reader: (emit: (event: TurnEvent) => void) => SdkReader;
  /** Called with the body the package has sent. */
  readonly sent: (body: unknown) => void;
  /** Called with the usage of an interrupted answer, if the provider has sent any. */
  readonly reported: (usage: Usage) => void;
  /** Called when the turn abandons an answer on which the provider may still be working, and for which it will charge. */
  readonly abandoned: () => void;
}

export function runModel(call: ModelCall): Answer {
  const run = new ModelRun(call);
  void run.pump();
  return run.answer;
}

class ModelRun {
  readonly #call: ModelCall;
  readonly #queue: BatchQueue;
  readonly #reader: SdkReader;
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #flushing = false;
  #closed = false;
  #size = 0;
  /** Resolves a promise when the consumer has taken all waiting events. */
  #room: (() => void) | undefined;

  constructor(call: ModelCall) {
    this.#call = call;
    this.#queue = new BatchQueue(!call.stream, {
      taken: () => this.#room?.(),
      left: () => this.#abandon(connectionLost()),
    });
    this.#reader = call.reader((event) => this.#queue.emit(event));
  }

  get answer(): Answer {
    return this.#queue;
  }

  async pump(): Promise<void> {
    const { timeouts, deadline, signal, sent } = this.#call;
    const deadlineMs = performance.now() + deadline.withinMs;
    const withinDeadline = (limitMs: number) => Math.min(limitMs, deadlineMs - performance.now());
    signal.addEventListener("abort", this.#onAbort);
    try {
      this.#wait("headers", withinDeadline(timeouts.headers_ms));
      const { stream, request } = await this.#callModel();
      sent(request?.body);
      this.#wait("first event", withinDeadline(deadline.last ? Number.POSITIVE_INFINITY : timeouts.first_event_ms));
      for await (const part of stream) {
        if (this.#closed) return;
        await this.#read(part);
      }
      this.#complete();
    } catch (error) {
      this.#fail(sdkFault(error));
    }
  }

  async #callModel(): Promise<LanguageModelV4StreamResult> {
    const { model, options } = this.#call;
    try {
      return await model().doStream({ ...options, abortSignal: this.#abort.signal });
    } catch (error) {
      throw requestFault(error);
    }
  }

  readonly #onAbort = () => this.#abandon(abortFault(this.#call.signal));

  /** Abandons the answer. Once the abort listener is set, the package has begun to send, and an aborted call may be charged. */
  #abandon(fault: Fault): void {
    if (!this.#closed) this.#call.abandoned();
    this.#fail(fault);
  }

  async #read(part: LanguageModelV4StreamPart): Promise<void> {
    const size = "delta" in part ? part.delta.length : part.type === "file" ? (findFileData(part)?.length ?? 0) : 0;
    this.#size += size;
    if (this.#size > answerLimit) throw providerFailed(`answer of more than ${answerLimit} characters`);
    this.#call.held.grow(copiesOfPart * size + partBytes);
    this.#reader.read(part);
    this.#queue.unreadBytes += size;
    this.#flushSoon();
    if (this.#queue.open && this.#queue.unreadBytes > unreadLimit) await this.#untilTaken();
    // Parts without text, such as metadata, do not restart the idle timer.
    if (size > 0 || part.type === "tool-call") this.#wait("event", this.#call.timeouts.idle_ms);
  }

  #untilTaken(): Promise<void> {
    clearTimeout(this.#timer);
    return new Promise((resolve) => {
      this.#room = resolve;
    });
  }

  #wait(phase: string, limitMs: number): void {
    clearTimeout(this.#timer);
    if (!this.#closed && limitMs < Number.POSITIVE_INFINITY)
      this.#timer = setTimeout(() => this.#fail(providerTimeout(phase)), limitMs);
  }

  /** Flushes at the end of this turn of the event loop: parts of one read arrive in separate promises, all before the next turn. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#queue.flush();
    });
  }

  #complete(): void {
    if (this.#closed) return;
    this.#reader.close();
    this.#close();
    this.#queue.end();
    this.#flushSoon();
  }

  #fail(fault: Fault): void {
    if (this.#closed) return;
    this.#close();
    this.#abort.abort(fault);
    if (this.#reader.usage) this.#call.reported(this.#reader.usage);
    this.#queue.fail(fault);
    this.#flushSoon();
  }

  #close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#call.signal.removeEventListener("abort", this.#onAbort);
    this.#room?.();
  }
}
