/**
 * One HTTP call to a provider. All events of one read leave as one batch; reading pauses while too much waits for the consumer. The socket
 * closes at once when the signal aborts, a limit is passed, or the consumer leaves.
 */
import type { IncomingHttpHeaders } from "node:http";
import { eventLoop } from "@sluice/proto/runtime/fair-shares.js";
import { Fault } from "@sluice/proto/runtime/fault.js";
import type { Dispatcher } from "undici";
import { abortFault } from "../turn/abort.ts";
import type { TurnSignal } from "../turn/signal.ts";
import type { Batch, Patience, TurnEvent, Usage } from "../turn/turn.ts";
import { type Expected, openAnswer } from "./answer.ts";
import { CodedBody, codingOf, unpackerOf } from "./coding.ts";
import { Deadline, type Timeouts } from "./deadline.ts";
import type { Answer, Translator } from "./dialect.ts";
import { connectionLost, isFullWindow, providerFailed, providerTimeout } from "./failure.ts";
import { BatchQueue } from "./queue.ts";

/** Some hundred events: little beside what the sockets buffer anyway. */
const unreadLimitBytes = 256 * 1024;
/** Above what any model writes in one turn, images included. */
const answerLimitBytes = 64 * 1024 * 1024;

export interface Call extends Expected {
  readonly options: Dispatcher.DispatchOptions;
  readonly timeouts: Timeouts;
  readonly patience: Patience;
  /** Its share of this process's time reads the answer. */
  readonly keyHash: string;
  readonly signal: TurnSignal;
  readonly translate: (emit: (event: TurnEvent) => void) => Translator;
  /** Called with the figures of an answer that came to no end, where it gave some. */
  readonly reported: (usage: Usage) => void;
  /** Called when the answer is given up while the provider may be working on it: it charges for that. */
  readonly abandoned: () => void;
}

export class Exchange implements Dispatcher.DispatchHandler {
  readonly #call: Call;
  readonly #queue: BatchQueue;
  readonly #translator: Translator;
  #over: ((reusable: boolean) => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #answer: Answer | undefined;
  /** Absent where the body is not coded, or not read. */
  #coded: CodedBody | undefined;
  /** As they are after unpacking. */
  #readBytes = 0;
  readonly #deadline: Deadline;
  #flushing = false;
  #paused = false;
  /** Received, and not read before it is the turn of the key. Nothing more is received meanwhile. */
  #unread: Buffer[] = [];
  /** The answer was read, or failed: what still comes is ignored. */
  #closed = false;
  /** Status of the provider's answer; 0 before it came. */
  status = 0;

  constructor(call: Call) {
    this.#call = call;
    this.#queue = new BatchQueue(!call.stream, { taken: () => this.#resume(), left: () => this.#leave() });
    this.#translator = call.translate((event) => this.#queue.emit(event));
    this.#deadline = new Deadline(call.timeouts, call.patience, () => this.#expire());
  }

  /** True once the request may have reached the provider: from then on it may have been billed. */
  get sent(): boolean {
    return this.#controller !== undefined;
  }

  /** @param over called once, as soon as the connection can carry another request, or must be closed */
  start(connection: Dispatcher, over: (reusable: boolean) => void): Promise<AsyncIterable<Batch>> {
    this.#over = over;
    this.#call.signal.addEventListener("abort", this.#onAbort);
    this.#deadline.begin();
    connection.dispatch(this.#call.options, this);
    return this.#queue.opened;
  }

  readonly #onAbort = () => this.#abandon(abortFault(this.#call.signal));

  /** A request that was never sent costs nothing. */
  #abandon(fault: Fault): void {
    if (this.sent && !this.#closed) this.#call.abandoned();
    this.#fail(fault);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (!this.#closed) this.#deadline.enter("headers");
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.status = status;
    this.#step(() => {
      this.#answer = openAnswer({ status, headers }, this.#call, this.#translator);
      const coding = codingOf(headers);
      if (coding !== undefined) this.#unpack(coding, controller);
      this.#deadline.enter(this.#call.stream ? "first event" : "event");
    });
  }

  #unpack(coding: string, source: Dispatcher.DispatchController): void {
    const unpacker = unpackerOf(coding);
    // Of an error, whose status says enough.
    if (unpacker === undefined) return;
    this.#coded = new CodedBody(unpacker, source, {
      read: (chunk) => this.#read(chunk),
      unreadable: (cause) =>
        this.#step(() => {
          if (this.status < 400) throw providerFailed(`content-encoding ${coding} that cannot be read`, cause);
          this.#answer?.end();
        }),
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // undici hands over an empty chunk when it resumes a body of which nothing more has come: to wait with it would go on for ever.
    if (this.#closed || chunk.length === 0) return;
    // A body that is unpacked pauses the controller by itself; few are, as none is asked for.
    if (this.#coded) return this.#coded.write(chunk);
    if (this.#unread.length === 0 && eventLoop.hasTime()) return this.#read(chunk);
    if (this.#unread.push(chunk) > 1) return;
    const { phase } = this.#deadline;
    this.#deadline.stop();
    controller.pause();
    eventLoop.wait(this.#call.keyHash, () => {
      if (this.#closed) return;
      this.#deadline.enter(phase);
      this.#takeUnread();
      // The consumer may have stopped to take what had been read before.
      if (this.#paused) this.#deadline.stop();
      else controller.resume();
    });
  }

  #takeUnread(): void {
    for (const chunk of this.#unread.splice(0)) this.#read(chunk);
  }

  #read(chunk: Buffer): void {
    if (this.#closed) return;
    this.#readBytes += chunk.length;
    if (this.#queue.open) this.#queue.unreadBytes += chunk.length;
    this.#step(() => {
      if (this.#readBytes > answerLimitBytes) throw providerFailed(`answer of more than ${answerLimitBytes} bytes`);
      this.#answer?.feed(chunk);
      this.#advance();
    });
  }

  onResponseEnd(): void {
    this.#release(true);
    this.#afterBody(() => this.#answer?.end());
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#afterBody(() => {
      if (!this.#translator.finished) throw this.#socketFault(error);
      this.#translator.close();
    });
    this.#release(false);
  }

  /** What was received of a coded body is read before it counts that nothing more comes. */
  #afterBody(read: () => void): void {
    this.#takeUnread();
    const finish = () => {
      if (!this.#closed) this.#step(read);
      this.#deadline.stop();
    };
    if (this.#coded && !this.#closed) this.#coded.end(finish);
    else finish();
  }

  #release(reusable: boolean): void {
    this.#over?.(reusable);
    this.#over = undefined;
  }

  #socketFault(error: Error & { code?: string }): Fault {
    if (error.code === "UND_ERR_CONNECT_TIMEOUT") return providerTimeout("connection", error);
    return this.#queue.committed ? connectionLost(error) : providerFailed(error.code ?? error.message, error);
  }

  /** Whatever happens while reading ends the exchange in good order: undici must never see a throw. */
  #step(read: () => void): void {
    try {
      read();
    } catch (error) {
      const fault = Fault.from(error);
      if (!(isFullWindow(fault) && this.#queue.open && !this.#translator.done)) return this.#fail(fault);
      this.#translator.cut();
    }
    if (this.#translator.done) this.#complete();
    if (this.#flushing) return;
    this.#flushing = true;
    // undici calls once a chunk; the next tick comes after the last chunk of the read.
    process.nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    this.#queue.flush();
    if (this.#closed || this.#paused || this.#queue.unreadBytes <= unreadLimitBytes) return;
    // What was read is the beginning of one event: nothing can be taken before its end, so that nobody would resume.
    if (!this.#queue.waits) return;
    this.#paused = true;
    this.#deadline.stop();
    (this.#coded ?? this.#controller)?.pause();
  };

  #resume(): void {
    if (!this.#paused || this.#closed) return;
    this.#paused = false;
    this.#deadline.enter("event");
    if (this.#unread.length === 0) (this.#coded ?? this.#controller)?.resume();
  }

  /** A reader who is done with an answer that has ended costs nothing; otherwise the provider must stop. */
  #leave(): void {
    this.#abandon(connectionLost());
  }

  #advance(): void {
    if (this.#translator.done) return;
    if (this.#translator.finished) {
      // Some write the reason into every chunk: while words come, the figures are waited for anew.
      if (this.#deadline.phase !== "figures" || this.#queue.waits) this.#deadline.enter("figures");
    } else if (this.#deadline.phase === "event" || this.#queue.committed) this.#deadline.enter("event");
  }

  #expire(): void {
    const { phase } = this.#deadline;
    if (phase === "close") return this.#release(false);
    // A provider that has accepted the request charges for it, whether it is waited for or not.
    if (phase !== "figures")
      return this.status === 200 ? this.#abandon(providerTimeout(phase)) : this.#fail(providerTimeout(phase));
    this.#step(() => this.#translator.close());
  }

  #complete(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#call.signal.removeEventListener("abort", this.#onAbort);
    this.#coded?.close();
    this.#queue.end();
    if (this.#over) this.#deadline.enter("close");
    else this.#deadline.stop();
  }

  #fail(fault: Fault): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#coded?.close();
    this.#deadline.stop();
    this.#call.signal.removeEventListener("abort", this.#onAbort);
    const { usage } = this.#translator;
    if (usage) this.#call.reported(usage);
    this.#queue.fail(fault);
    this.#release(false);
    queueMicrotask(() => this.#queue.flush());
  }
}
