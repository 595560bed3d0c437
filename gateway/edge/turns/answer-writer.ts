/**
 * Writes the answer of a turn in the format of its door, as a stream of events or as one object. Until the first committing event, or until the
 * status gate opens, a failure gets its own HTTP status; afterwards it is an event of the stream.
 */
import type { ServerResponse } from "node:http";
import type { RunTurnRequest, TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { generationIdHeader } from "@sluice/proto/lib/rpc/caller.js";
import { type Account, heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import { eventCost } from "@sluice/proto/lib/lane/outbox.js";
import type { TurnControl, TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";
import { type WheelTimer, timeLimits } from "@sluice/proto/lib/time/timer-wheel.js";
import { writeFault } from "../http/errors.ts";
import { writeWholeAnswer } from "../http/whole-answer.ts";
import { EventStream, type KeepAlive, encodingOf } from "../sse/event-stream.ts";
import { removeWarnings, warnAboutAlteredFields } from "./unknown-fields.ts";
import type { CapturedTurn } from "./captured-turn.ts";
import type { Door, DoorTurn, StreamedAnswer, WholeAnswer } from "./door.ts";

/** The call whose answer is written. */
export interface AnsweredCall {
  readonly res: ServerResponse;
  readonly keyHash: string;
  readonly requestId: string;
  /** Takes the answer if the key captures content. */
  readonly captured: CapturedTurn | undefined;
  /** The turn; undefined until it is prepared. */
  prepared: AnsweredTurn | undefined;
  /** The writer of the answer; the call notifies it when the response closes. */
  answer: AnswerWriter | undefined;
  /** Called when inference-svc has begun the turn. */
  accepted(): void;
  /** Called exactly once, at the end of the answer. @param fault undefined after a success or when the client has left */
  settled(fault: Fault | undefined): void;
}

/** The parts of a prepared turn that its answer contains. */
export interface AnswerHead {
  readonly door: Door;
  readonly turn: Pick<DoorTurn, "explain" | "names">;
  readonly generationId: string;
  /** Second name under which the answer contains `service_metadata`. */
  readonly metadataAlias: string | undefined;
}

export interface AnsweredTurn extends AnswerHead {
  readonly request: RunTurnRequest;
}

/** Bytes of memory for an event in addition to its text, until the answer ends. */
const pieceBytes = 8;
/** Bytes of memory per character in the folded text of the events: at most two. */
const bytesPerCharacter = 2;

/**
 * Bytes of memory that events take in the gateway until their answer is sent. @param count number of events @param cost bytes of the events on the
 * lane
 */
export const measureEvents = (count: number, cost: number): number =>
  pieceBytes * count + bytesPerCharacter * Math.max(0, cost - eventCost * count);

const endless = () =>
  new Fault(FaultReason.PROVIDER_FAILED, "The turn was interrupted", { origin: FaultOrigin.INFERENCE });

export abstract class AnswerWriter implements TurnListener {
  protected readonly call: AnsweredCall;
  readonly #head: AnswerHead;
  #control: TurnControl | undefined = undefined;
  /** Memory account of the answer, from the opening of the turn until the response closes. */
  #held: Account | undefined = undefined;
  /** Whether the answer has ended. */
  protected over = false;
  #hasEvents = false;

  constructor(call: AnsweredCall, head: AnswerHead) {
    this.call = call;
    this.#head = head;
  }

  /** @param open opens the turn with this writer as its listener; its errors become the answer */
  start(open: (listener: TurnListener) => TurnControl): void {
    const { res: response } = this.call;
    // The client may have closed the connection while its body was being read.
    if (response.closed || response.destroyed) return this.settle();
    this.#held = heldBytes.open(this.call.keyHash, (fault) => this.#overflow(fault));
    try {
      this.#control = open(this);
    } catch (error) {
      this.failed(Fault.from(error));
    }
  }

  accepted(): void {
    this.call.accepted();
  }

  events(events: readonly TurnEvent[], cost: number): void {
    if (this.#held?.tryGrow(measureEvents(events.length, cost)) === false) return;
    if (!this.#hasEvents) this.#begun(events);
    this.write(events);
  }

  /** Handles the first batch. The turn's start event is in it, after events about requests to providers. */
  #begun(events: readonly TurnEvent[]): void {
    this.#hasEvents = true;
    for (const { event } of events) {
      if (event.case !== "start") continue;
      const { passedFields, alteredFields } = event.value;
      const { res: response, prepared } = this.call;
      if (prepared && passedFields.length > 0) removeWarnings(response, prepared.request, passedFields);
      if (alteredFields.length > 0) warnAboutAlteredFields(response, alteredFields, this.#head.turn.names);
    }
  }

  /** Called when the response has closed, to end the turn. */
  left(): void {
    this.#held?.release();
    if (this.over) return;
    this.settle();
    this.#control?.cancel();
  }

  /**
   * Ends this answer, which is the largest when all answers together hold too much memory. A complete answer is only waiting for a client that does
   * not read it, so its connection is closed.
   */
  #overflow(fault: Fault): void {
    if (this.over) return void this.call.res.destroy();
    this.#control?.cancel();
    this.failed(fault);
  }

  pause(): void {
    this.#control?.pause();
  }

  resume(): void {
    this.#control?.resume();
  }

  /** Ends the answer; nothing is written afterwards. */
  protected settle(fault?: Fault): void {
    this.over = true;
    this.call.settled(fault);
  }

  /** @param usageJson tokens consumed by an answer that was not delivered */
  protected refuse(fault: Fault, usageJson: string | undefined): void {
    const { door, generationId, metadataAlias } = this.#head;
    const { res: response, requestId } = this.call;
    this.settle(fault);
    writeFault(response, fault, { requestId, generationId, metadataAlias, usageJson }, door.faults);
  }

  /** Writes status 200 and the headers.  @param own names and values in turn, the form that Node writes without further checks */
  protected begin(own: readonly string[]): void {
    const { door, generationId } = this.#head;
    const { res: response, requestId } = this.call;
    const headers = [...own, "x-request-id", requestId, generationIdHeader, generationId];
    const { requestIdHeader } = door.faults;
    if (requestIdHeader !== undefined) headers.push(requestIdHeader, requestId);
    response.writeHead(200, headers);
  }

  /** The headers of this answer that all answers have, as lines. */
  protected get headerLines(): string {
    const { door, generationId } = this.#head;
    const { requestId } = this.call;
    const { requestIdHeader } = door.faults;
    const second = requestIdHeader === undefined ? "" : `${requestIdHeader}: ${requestId}\r\n`;
    return `x-request-id: ${requestId}\r\n${generationIdHeader}: ${generationId}\r\n${second}`;
  }

  failed(fault: Fault): void {
    const { turn } = this.#head;
    this.fail(turn.explain ? turn.explain(fault) : fault);
  }

  protected abstract write(events: readonly TurnEvent[]): void;
  /** @param fault failure with the field names of the client's format */
  protected abstract fail(fault: Fault): void;
  abstract ended(): void;
}

const jsonType = "application/json; charset=utf-8";

/** Writes an answer for `stream: false`: nothing is sent before the whole answer is complete. */
export class ObjectWriter extends AnswerWriter {
  readonly #answer: WholeAnswer;

  constructor(call: AnsweredCall, head: AnswerHead, answer: WholeAnswer) {
    super(call, head);
    this.#answer = answer;
  }

  protected override write(events: readonly TurnEvent[]): void {
    for (const { event } of events) this.#answer.apply(event);
  }

  override ended(): void {
    const json = this.#answer.json();
    if (json === undefined) return this.failed(endless());
    this.call.captured?.add(json);
    this.settle();
    if (writeWholeAnswer(this.call.res, `content-type: ${jsonType}\r\n${this.headerLines}`, json)) return;
    const bytes = Buffer.byteLength(json);
    this.begin(["content-type", jsonType, "content-length", String(bytes)]);
    // Two calls are cheaper: `end` with a text would write an empty second piece.
    this.call.res.write(json, encodingOf(json, bytes));
    this.call.res.end();
  }

  protected override fail(fault: Fault): void {
    this.refuse(fault, this.#answer.withheldUsageJson);
  }
}

const streamHeaders = [
  "content-type",
  "text/event-stream; charset=utf-8",
  "cache-control",
  "no-cache, no-transform",
  "x-accel-buffering",
  "no",
];

/** Writes an answer for `stream: true`. */
export class StreamWriter extends AnswerWriter {
  readonly #answer: StreamedAnswer;
  readonly #stream: EventStream;
  #gate: WheelTimer | undefined;

  /** @param gateMs milliseconds after which status 200 is sent without a first event */
  constructor(call: AnsweredCall, head: AnswerHead, answer: StreamedAnswer, keepAlive: KeepAlive, gateMs: number) {
    super(call, head);
    this.#answer = answer;
    this.#stream = new EventStream(call.res, keepAlive, this);
    this.#gate = timeLimits.start(gateMs, openGate, this);
  }

  protected override write(events: readonly TurnEvent[]): void {
    const text = this.#answer.events(events);
    if (!this.#stream.begun) return this.#begin(text + this.#answer.open());
    if (text === "") return;
    this.call.captured?.add(text);
    this.#stream.write(text, this.#answer.over);
  }

  override ended(): void {
    if (!this.#answer.over) return this.failed(endless());
    this.settle();
    this.#stream.end("");
  }

  protected override fail(fault: Fault): void {
    if (!this.#stream.begun) return this.refuse(fault, this.#answer.withheldUsageJson);
    const text = this.#answer.failed(fault);
    this.call.captured?.add(text);
    this.settle(fault);
    this.#stream.end(text);
  }

  override left(): void {
    this.#stream.forget();
    super.left();
  }

  openGate(): void {
    this.#begin(this.#answer.open());
  }

  protected override settle(fault?: Fault): void {
    this.#closeGate();
    super.settle(fault);
  }

  #closeGate(): void {
    this.#gate?.stop();
    this.#gate = undefined;
  }

  #begin(text: string): void {
    if (this.over || this.#stream.begun) return;
    this.#closeGate();
    this.begin(streamHeaders);
    this.call.captured?.add(text);
    this.#stream.begin(text);
  }
}

const openGate = (writer: StreamWriter): void => writer.openGate();
