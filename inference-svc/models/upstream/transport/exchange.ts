/**
 * An HTTP call to a provider. All events of one read leave as one batch, and reading pauses while too much waits for the consumer. The
 * socket closes at once when the signal aborts, a limit is exceeded, or the consumer leaves.
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
 * Maximum bytes of events waiting for the consumer: some hundred events, as many as the lane lets a turn have under way. As objects they take three
 * times as much, and with 256 KiB the garbage collector was kept busy by a thousand slow readers (2026-11-23).
 */
const unreadLimitBytes = 32 * 1024;
/** Above what any model writes in one turn, images included. */
const answerLimitBytes = 64 * 1024 * 1024;

/** The parts of a connection used by an exchange. */
export type Wire = Pick<Connection, "send" | "pause" | "resume" | "close">;

export class Exchange implements ResponseHandler, QueueHooks, DeadlineWatcher {
  readonly #call: Call;
  /** Undefined once it was handed to the connection. */
  #request: Request | undefined;
  readonly #queue: BatchQueue;
  readonly #translator: HeldAnswer;
  /** Absent before the start, and once the response has ended: the connection may then carry another request. */
  #connection: Wire | undefined;
  #answer: AnswerReader | undefined;
  /** Absent for bodies without a coding, and for bodies left unread. */
  #coded: CodedBody | undefined;
  /** Bytes after decompression. */
  #readBytes = 0;
  readonly #deadline: Deadline;
  #flushing = false;
  /** Whether the consumer is behind: nothing more is read or received before it takes the waiting events. */
  #paused = false;
  /** Received chunks, to be read in the turn of the key. */
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #awaitsTurn = false;
  /** Whether nothing more is received, because too much waits. */
  #stopped = false;
  /** Ends an answer after its last byte, once all of it is read. */
  #end: (() => void) | undefined;
  /** True once the answer was read or has failed; everything later is ignored. */
  #closed = false;
  /** True once the request may have reached the provider: it may charge for it. */
  sent = false;
  /** Status of the provider's answer; 0 before it arrives. */
  status = 0;

  constructor(call: Call, request: Request, translate: (emit: (event: TurnEvent) => void) => Translator) {
    this.#call = call;
    this.#request = request;
    this.#queue = new BatchQueue(!call.stream, this);
    const translator = translate((event) => this.#queue.emit(event));
    this.#translator = new HeldAnswer(translator, this.#queue, call.held);
    this.#deadline = new Deadline(call.timeouts, call.attemptDeadline, this);
  }

  /** Call it once. */
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

  /** A request never sent costs nothing. */
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
    // An error body with an unknown coding: its status is enough.
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
    // A compressed body pauses the connection by itself.
    if (this.#coded) return this.#coded.write(chunk);
    if (!this.#waits && this.#unread.length === 0 && eventLoop.hasTime()) return this.#read(chunk);
    // The bytes are there during this call only.
    this.#unread.push(Buffer.from(chunk));
    this.#unreadBytes += chunk.length;
    // Most answers are complete by now, and stopping and starting a socket takes as long as reading one of them.
    if (this.#unreadBytes > unreadLimitBytes) this.#stop();
    if (!this.#waits) this.#readInTurn();
  }

  /** Whether the next chunk is read later. */
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
    // The connection can carry another request once the rest of the body has come.
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

  /** Whether enough events wait for the consumer. An unfinished long event does not count: the consumer can take nothing before its end. */
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
    // The last event of nearly every stream comes before the end of its body.
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

  /** Received compressed data is read before the end of the body counts. */
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

  /** Any exception while reading ends the exchange in good order, because the connection must never see one. */
  #step(read: () => void): void {
    try {
      read();
    } catch (error) {
      if (this.#isEndedBy(error)) return;
    }
    this.#goOnAfterStep();
  }

  /** Whether the exchange has failed; a full window only ends a running answer. */
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
    // The next tick comes after the end of the response, possibly in the same read.
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

  /** Leaving after the end of the answer costs nothing; before the end, the provider must be stopped. */
  left(): void {
    this.#abandon(connectionLost());
  }

  #advance(): void {
    if (this.#translator.done) return;
    if (this.#translator.finished) {
      // Some providers repeat the finish reason in every chunk: while text arrives, the wait for usage starts again.
      if (this.#deadline.phase !== "figures" || this.#queue.waits) this.#deadline.enter("figures");
    } else if (this.#deadline.phase === "event" || this.#queue.committed) this.#deadline.enter("event");
  }

  expired(phase: Phase): void {
    if (phase === "close") return this.#disconnect();
    // A provider with an accepted request charges for it, even after a timeout.
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
