/**
 * An HTTP call to a provider. All events of one read are passed on as one batch, and reading pauses while too much
 * waits for the consumer. The socket closes at once when the signal aborts, a limit is exceeded, or the consumer
 * leaves.
 */
import { eventLoop, longWork } from "@sluice/proto/lib/load/fair-shares.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { abortFault } from "../../../turn/abort.ts";
import type { Answer, TurnEvent } from "../../../turn/turn.ts";
import { openAnswer } from "../events/answer.ts";
import type { Call } from "./call.ts";
import { CodedBody, findDecompressor } from "./content-coding.ts";
import { Deadline, type DeadlineWatcher, type Phase } from "./deadline.ts";
import type { Connection, Request, ResponseHandler } from "./http/connection.ts";
import type { ResponseHead } from "./http/response-head.ts";
import type { AnswerReader, Translator } from "../dialect.ts";
import { answerTooLarge, connectionLost, isContextExceeded, providerFailed, providerTimeout } from "../failure.ts";
import { HeldAnswer } from "./held-answer.ts";
import { BatchQueue, type QueueHooks } from "./queue.ts";

/**
 * Maximum bytes of events that wait for the consumer: some hundred events, as many as the lane lets a turn have under
 * way. As objects they take three times as much, and with 256 KiB a thousand slow readers kept the garbage collector
 * busy (2026-11-23).
 */
const unreadLimitBytes = 32 * 1024;
/** Maximum bytes of an answer, above what any model writes in one turn, images included. */
const answerLimitBytes = 64 * 1024 * 1024;

/** The methods of a connection an exchange uses. */
export type Wire = Pick<Connection, "send" | "pause" | "resume" | "close">;

export class Exchange implements ResponseHandler, QueueHooks, DeadlineWatcher {
  readonly #call: Call;
  /** The request; undefined once the connection has it, to free its memory. */
  #request: Request | undefined;
  readonly #queue: BatchQueue;
  readonly #translator: HeldAnswer;
  /** The connection; undefined before the start, and once the response has ended, because the connection may then carry another request. */
  #connection: Wire | undefined;
  #answer: AnswerReader | undefined;
  /** Decompresses the body; undefined for bodies without a coding, and for bodies that are not read. */
  #coded: CodedBody | undefined;
  /** Number of bytes read so far, after decompression. */
  #readBytes = 0;
  readonly #deadline: Deadline;
  #flushing = false;
  /** Whether the consumer is slow, so nothing more is read or received until it takes the waiting events. */
  #paused = false;
  /** Received chunks that wait until it is the key's turn to read. */
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #awaitsTurn = false;
  /** Whether nothing more is received, because too much waits. */
  #stopped = false;
  /** Ends the answer; called after its last byte, once all of it is read. */
  #end: (() => void) | undefined;
  /** Whether the answer was read or has failed, so everything later is ignored. */
  #closed = false;
  /** Whether the request may have reached the provider, which may then charge for it. */
  sent = false;
  /** HTTP status of the provider's answer; 0 before it arrives. */
  status = 0;

  constructor(call: Call, request: Request, translate: (emit: (event: TurnEvent) => void) => Translator) {
    this.#call = call;
    this.#request = request;
    this.#queue = new BatchQueue(!call.stream, this);
    const translator = translate((event) => this.#queue.emit(event));
    this.#translator = new HeldAnswer(translator, this.#queue, call.held);
    this.#deadline = new Deadline(call.timeouts, call.attemptDeadline, this);
  }

  /** Starts the call; may be called only once. */
  start(connection: Wire): Answer {
    const request = this.#request as Request;
    this.#request = undefined;
    this.#connection = connection;
    this.#call.signal.addEventListener("abort", this.#onAbort);
    this.#deadline.begin();
    connection.send(request, this);
    return this.#queue;
  }

  readonly #onAbort = () => this.#abandon(abortFault(this.#call.signal));

  /** Abandons the call; a request that was never sent costs nothing. */
  #abandon(fault: Fault): void {
    if (this.sent && !this.#closed) this.#call.abandoned();
    this.#fail(fault);
  }

  onRequestStart(): void {
    this.sent = true;
    this.#deadline.enter("headers");
  }

  onResponseStart(head: ResponseHead): void {
    this.status = head.status;
    try {
      this.#answer = openAnswer(head, this.#call, this.#translator);
      if (head.contentCoding !== undefined) this.#unpack(head.contentCoding);
      this.#deadline.enter(this.#call.stream ? "first event" : "event");
    } catch (error) {
      if (this.#isEndedBy(error)) return;
    }
    this.#goOnAfterStep();
  }

  #unpack(coding: string): void {
    const unpacker = findDecompressor(coding);
    // The body of an error has an unknown coding, so only the status is used.
    if (unpacker === undefined) return;
    const source = { pause: () => this.#connection?.pause(), resume: () => this.#connection?.resume() };
    this.#coded = new CodedBody(unpacker, source, {
      read: (chunk) => this.#read(chunk),
      unreadable: (cause) =>
        this.#step(() => {
          if (this.status < 400) throw providerFailed(`content-encoding ${coding} that cannot be read`, cause);
          this.#answer?.end();
        }),
    });
  }

  onResponseData(chunk: Buffer): void {
    if (this.#closed) return;
    // A compressed body pauses the connection itself.
    if (this.#coded) return this.#coded.write(chunk);
    if (!this.#waits && this.#unread.length === 0 && eventLoop.hasTime()) return this.#read(chunk);
    // The bytes are valid only during this call, so they are copied.
    this.#unread.push(Buffer.from(chunk));
    this.#unreadBytes += chunk.length;
    // Reading does not stop yet: most answers are complete by now, and stopping and starting a socket takes as long as
    // reading one of them.
    if (this.#unreadBytes > unreadLimitBytes) this.#stop();
    if (!this.#waits) this.#readInTurn();
  }

  /** Whether the next chunk must wait to be read. */
  get #waits(): boolean {
    return this.#paused || this.#translator.waits;
  }

  #stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    (this.#coded ?? this.#connection)?.pause();
  }

  #receive(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    (this.#coded ?? this.#connection)?.resume();
  }

  #readInTurn(): void {
    if (this.#awaitsTurn) return;
    this.#awaitsTurn = true;
    this.#deadline.stop();
    eventLoop.wait(this.#call.keyHash, () => {
      this.#awaitsTurn = false;
      while (this.#unread.length > 0 && !this.#isFull && !this.#translator.waits && !this.#closed) this.#readNext();
      this.#endTurn();
    });
  }

  #endTurn(): void {
    this.#flush();
    if (!this.#closed && !this.#paused) this.#goOn();
    // The rest of the body is received although the answer is closed, because the connection can then carry another
    // request.
    if (this.#closed) this.#receive();
  }

  #readLongInTurn(): void {
    if (this.#awaitsTurn) return;
    this.#awaitsTurn = true;
    this.#deadline.stop();
    this.#stop();
    longWork.wait(this.#call.keyHash, () => {
      this.#awaitsTurn = false;
      if (!this.#closed) {
        this.#step(() => {
          this.#translator.readLong();
          this.#translator.count();
          this.#advance();
        });
      }
      this.#endTurn();
    });
  }

  #readNext(): void {
    const chunk = this.#unread.shift() as Buffer;
    this.#unreadBytes -= chunk.length;
    this.#read(chunk);
  }

  #goOn(): void {
    if (this.#translator.waits) return this.#readLongInTurn();
    if (this.#unread.length > 0) return this.#readInTurn();
    if (this.#end) return this.#end();
    this.#deadline.enter(this.#deadline.phase);
    this.#receive();
  }

  /**
   * Whether enough events wait for the consumer. A long event that is not complete does not count, because the consumer
   * can take nothing before its end.
   */
  get #isFull(): boolean {
    return this.#queue.open && this.#queue.waits && this.#queue.unreadBytes > unreadLimitBytes;
  }

  #read(chunk: Buffer): void {
    if (this.#closed) return;
    this.#readBytes += chunk.length;
    if (this.#queue.open) this.#queue.unreadBytes += chunk.length;
    try {
      if (this.#readBytes > answerLimitBytes) throw answerTooLarge(`more than ${answerLimitBytes} bytes`);
      this.#translator.read(chunk);
      this.#answer?.feed(chunk);
      this.#translator.count();
      this.#advance();
    } catch (error) {
      if (this.#isEndedBy(error)) return;
    }
    this.#goOnAfterStep();
  }

  onResponseEnd(): void {
    this.#connection = undefined;
    const isRead = this.#unread.length === 0;
    // In nearly every stream, the last event comes before the end of the body.
    if (isRead && this.#closed) return this.#deadline.stop();
    const end = () => this.#afterBody(() => this.#answer?.end());
    if (isRead) end();
    else this.#end = end;
  }

  onResponseError(error: Error): void {
    this.#connection = undefined;
    this.#afterBody(() =>
      this.#translator.inOrder(() => {
        if (!this.#translator.finished) throw this.#socketFault(error);
        this.#translator.close();
      }),
    );
  }

  /** Calls `read` once all compressed data received so far is read: only then does the end of the body count. */
  #afterBody(read: () => void): void {
    while (this.#unread.length > 0) this.#readNext();
    const finish = () => {
      if (!this.#closed) this.#step(read);
      this.#deadline.stop();
    };
    if (this.#coded && !this.#closed) this.#coded.end(finish);
    else finish();
  }

  #disconnect(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.close();
  }

  #socketFault(error: Error & { code?: string }): Fault {
    if (error.code === "ERR_CONNECT_TIMEOUT") return providerTimeout("connection", error);
    return this.#queue.committed ? connectionLost(error) : providerFailed(error.code ?? error.message, error);
  }

  /** Runs a step of reading. Any exception ends the exchange, because the connection must never see one. */
  #step(read: () => void): void {
    try {
      read();
    } catch (error) {
      if (this.#isEndedBy(error)) return;
    }
    this.#goOnAfterStep();
  }

  /** Whether an error fails the exchange; a full context window only ends a running answer. */
  #isEndedBy(error: unknown): boolean {
    const fault = Fault.from(error);
    if (isContextExceeded(fault) && this.#queue.open && !this.#translator.done) {
      this.#translator.cut();
      return false;
    }
    this.#fail(fault);
    return true;
  }

  #goOnAfterStep(): void {
    if (this.#translator.done) this.#complete();
    if (this.#translator.waits) this.#readLongInTurn();
    if (this.#flushing) return;
    this.#flushing = true;
    // The next tick runs after the end of the response, which may be part of the same read.
    process.nextTick(Exchange.#flushLater, this);
  }

  static readonly #flushLater = (exchange: Exchange): void => exchange.#flush();

  #flush(): void {
    this.#flushing = false;
    this.#queue.flush();
    if (this.#closed || this.#paused || !this.#isFull) return;
    this.#paused = true;
    this.#deadline.stop();
    this.#stop();
  }

  taken(): void {
    if (!this.#paused || this.#closed) return;
    this.#paused = false;
    this.#goOn();
  }

  /** Called when the consumer leaves. After the end of the answer this costs nothing; before it, the provider must be stopped. */
  left(): void {
    this.#abandon(connectionLost());
  }

  #advance(): void {
    if (this.#translator.done) return;
    if (this.#translator.finished) {
      // Some providers repeat the finish reason in every chunk, so the wait for the usage starts again while text
      // arrives.
      if (this.#deadline.phase !== "figures" || this.#queue.waits) this.#deadline.enter("figures");
    } else if (this.#deadline.phase === "event" || this.#queue.committed) this.#deadline.enter("event");
  }

  expired(phase: Phase): void {
    if (phase === "close") return this.#disconnect();
    // A provider that has accepted a request charges for it, even after a timeout.
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
    if (this.#connection) this.#deadline.enter("close");
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
    this.#answer = undefined;
    this.#unread = [];
    this.#unreadBytes = 0;
    this.#translator.drop();
    this.#disconnect();
    queueMicrotask(() => this.#queue.flush());
  }
}
