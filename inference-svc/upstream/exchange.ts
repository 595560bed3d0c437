/**
 * One HTTP call to a provider. All events of one read leave as one batch; reading pauses while too much waits for the consumer. The socket
 * closes at once when the signal aborts, a limit is passed, or the consumer leaves.
 */
import type { IncomingHttpHeaders } from "node:http";
import { Fault } from "@sluice/proto/runtime/fault.js";
import type { Dispatcher } from "undici";
import { abortFault } from "../turn/abort.ts";
import type { TurnSignal } from "../turn/signal.ts";
import type { Batch, Patience, TurnEvent, Usage } from "../turn/turn.ts";
import { type Expected, openAnswer } from "./answer.ts";
import type { Answer, Translator } from "./dialect.ts";
import { connectionLost, providerFailed, providerTimeout } from "./failure.ts";
import { BatchQueue } from "./queue.ts";

/** Some hundred events: little beside what the sockets buffer anyway. */
const unreadLimitBytes = 256 * 1024;
/** Above what any model writes in one turn, images included. */
const answerLimitBytes = 64 * 1024 * 1024;
/** How long the figures are waited for after the finish reason. */
const figuresMs = 5_000;
/** How long the last bytes of an answer are waited for that has been read, so that its connection can be used again. */
const lingerMs = 1_000;

export interface Call extends Expected {
  readonly options: Dispatcher.DispatchOptions;
  readonly timeouts: { readonly headers_ms: number; readonly first_event_ms: number; readonly idle_ms: number };
  readonly patience: Patience;
  readonly signal: TurnSignal;
  readonly translate: (emit: (event: TurnEvent) => void) => Translator;
  /** Called with the figures of an answer that came to no end, where it gave some. */
  readonly reported: (usage: Usage) => void;
}

type Phase = "connection" | "headers" | "first event" | "event" | "figures" | "close";

export class Exchange implements Dispatcher.DispatchHandler {
  readonly #call: Call;
  readonly #queue: BatchQueue;
  readonly #translator: Translator;
  #over: ((reusable: boolean) => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #answer: Answer | undefined;
  #readBytes = 0;
  #phase: Phase = "connection";
  #timer: NodeJS.Timeout | undefined;
  /** performance.now() at which the phase has lasted too long. */
  #dueMs = Number.POSITIVE_INFINITY;
  /** performance.now() by which a first event must be there, if others are to be asked in time. */
  #patientUntilMs = Number.POSITIVE_INFINITY;
  /** When the timer fires: it may be earlier than what is due, and then looks again. */
  #firesMs = Number.POSITIVE_INFINITY;
  #flushing = false;
  #paused = false;
  /** The answer was read, or failed: what still comes is ignored. */
  #closed = false;
  /** Status of the provider's answer; 0 before it came. */
  status = 0;

  constructor(call: Call) {
    this.#call = call;
    this.#queue = new BatchQueue(!call.stream, { taken: () => this.#resume(), left: () => this.#leave() });
    this.#translator = call.translate((event) => this.#queue.emit(event));
  }

  /** True once the request may have reached the provider: from then on it may have been billed. */
  get sent(): boolean {
    return this.#controller !== undefined;
  }

  /** @param over called once, as soon as the connection can carry another request, or must be closed */
  start(connection: Dispatcher, over: (reusable: boolean) => void): Promise<AsyncIterable<Batch>> {
    this.#over = over;
    this.#call.signal.addEventListener("abort", this.#onAbort);
    this.#patientUntilMs = performance.now() + this.#call.patience.withinMs;
    this.#enter("connection");
    connection.dispatch(this.#call.options, this);
    return this.#queue.opened;
  }

  readonly #onAbort = () => this.#fail(abortFault(this.#call.signal));

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (!this.#closed) this.#enter("headers");
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.status = status;
    this.#step(() => {
      this.#answer = openAnswer({ status, headers }, this.#call, this.#translator);
      this.#enter(this.#call.stream ? "first event" : "event");
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
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
    if (!this.#closed) this.#step(() => this.#answer?.end());
    this.#stopTimer();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (!this.#closed) {
      this.#step(() => {
        if (!this.#translator.finished) throw this.#socketFault(error);
        this.#translator.close();
      });
    }
    this.#release(false);
    this.#stopTimer();
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
      this.#fail(Fault.from(error));
      return;
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
    this.#stopTimer();
    this.#controller?.pause();
  };

  #resume(): void {
    if (!this.#paused || this.#closed) return;
    this.#paused = false;
    this.#enter("event");
    this.#controller?.resume();
  }

  /** A reader who is done with an answer that has ended costs nothing; otherwise the provider must stop. */
  #leave(): void {
    this.#fail(connectionLost());
  }

  #advance(): void {
    if (this.#translator.done) return;
    if (this.#translator.finished) {
      if (this.#phase !== "figures") this.#enter("figures");
    } else if (this.#phase === "event" || this.#queue.committed) this.#enter("event");
  }

  /** Begins the phase, or begins it again: once an event, so a timer that fires early enough is left as it is. */
  #enter(phase: Phase): void {
    this.#phase = phase;
    const dueMs = performance.now() + this.#limitMs();
    this.#dueMs = this.#waitsForFirst ? Math.min(dueMs, this.#patientUntilMs) : dueMs;
    if (this.#dueMs < this.#firesMs) this.#arm();
  }

  /** Never later than an event that comes next would need it: so one timer serves a quick answer from its beginning to its end. */
  #arm(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    const waitMs = Math.ceil(Math.min(this.#dueMs - now, this.#call.timeouts.idle_ms));
    this.#firesMs = now + waitMs;
    this.#timer = setTimeout(this.#look, waitMs);
  }

  readonly #look = (): void => {
    this.#firesMs = Number.POSITIVE_INFINITY;
    if (performance.now() < this.#dueMs) this.#arm();
    else this.#expire();
  };

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#firesMs = Number.POSITIVE_INFINITY;
  }

  get #waitsForFirst(): boolean {
    return this.#phase === "connection" || this.#phase === "headers" || this.#phase === "first event";
  }

  #limitMs(): number {
    const { headers_ms, first_event_ms, idle_ms } = this.#call.timeouts;
    switch (this.#phase) {
      case "connection":
        // undici's own.
        return Number.POSITIVE_INFINITY;
      case "headers":
        return headers_ms;
      case "first event":
        return this.#call.patience.last ? Number.POSITIVE_INFINITY : first_event_ms;
      case "event":
        return idle_ms;
      case "figures":
        return Math.min(figuresMs, idle_ms);
      case "close":
        return lingerMs;
    }
  }

  #expire(): void {
    if (this.#phase === "close") return this.#release(false);
    if (this.#phase !== "figures") return this.#fail(providerTimeout(this.#phase));
    this.#step(() => this.#translator.close());
  }

  #complete(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#call.signal.removeEventListener("abort", this.#onAbort);
    this.#queue.end();
    if (this.#over) this.#enter("close");
  }

  #fail(fault: Fault): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopTimer();
    this.#call.signal.removeEventListener("abort", this.#onAbort);
    const { usage } = this.#translator;
    if (usage) this.#call.reported(usage);
    this.#queue.fail(fault);
    this.#release(false);
    queueMicrotask(() => this.#queue.flush());
  }
}
