/**
 * One POST /responses from the opened turn to the last byte: the status gate, then a stream or one object.
 *
 * Until the first committing event, or until the gate's time is over, a failure has its honest HTTP status; afterwards it is an event.
 */
import type { ServerResponse } from "node:http";
import type { TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { generationIdHeader } from "@sluice/proto/runtime/rpc/caller.js";
import { writeFault } from "../http/errors.ts";
import type { TurnControl, TurnListener } from "../lane/lane.ts";
import { EventStream, type KeepAlive } from "../sse/event-stream.ts";
import { Ladder } from "./ladder.ts";
import type { ResponseObject } from "./object.ts";

export interface ExchangeHeaders {
  readonly requestId: string;
  readonly generationId: string;
  /** A second name for service_metadata, in the body of a failure. */
  readonly metadataAlias?: string | undefined;
}

/** How the exchange ended: the fault, or undefined after an answer or when the client left. */
export type Settled = (fault?: Fault) => void;

const headerFields = ({ requestId, generationId }: ExchangeHeaders) => ({
  "x-request-id": requestId,
  [generationIdHeader]: generationId,
});

const endless = () =>
  new Fault(FaultReason.PROVIDER_FAILED, "The turn was interrupted", { origin: FaultOrigin.INFERENCE });

export abstract class Exchange implements TurnListener {
  protected readonly response: ServerResponse;
  protected readonly object: ResponseObject;
  protected readonly headers: ExchangeHeaders;
  readonly #settled: Settled;
  #control: TurnControl | undefined;
  #over = false;

  constructor(response: ServerResponse, object: ResponseObject, headers: ExchangeHeaders, settled: Settled) {
    this.response = response;
    this.object = object;
    this.headers = headers;
    this.#settled = settled;
    response.on("close", () => {
      if (this.#over) return;
      this.settle();
      this.#control?.cancel();
    });
  }

  /** @param open opens the turn for this listener; its throw is the exchange's failure */
  start(open: (listener: TurnListener) => TurnControl): void {
    // A client that left while its body was read has closed before anybody listened.
    if (this.response.closed || this.response.destroyed) return this.settle();
    try {
      this.#control = open(this);
    } catch (error) {
      this.failed(Fault.from(error));
    }
  }

  protected pause(): void {
    this.#control?.pause();
  }

  protected resume(): void {
    this.#control?.resume();
  }

  /** Nothing is written after this. */
  protected settle(fault?: Fault): void {
    this.#over = true;
    this.#settled(fault);
  }

  protected get over(): boolean {
    return this.#over;
  }

  protected refuse(fault: Fault): void {
    this.settle(fault);
    writeFault(this.response, fault, { ...this.headers, usageJson: this.object.withheldUsageJson });
  }

  abstract events(events: readonly TurnEvent[]): void;
  abstract ended(): void;
  abstract failed(fault: Fault): void;
}

/** `stream: false`: nothing is written before the whole answer is in hand. */
export class ObjectExchange extends Exchange {
  override events(events: readonly TurnEvent[]): void {
    for (const { event } of events) this.object.apply(event);
  }

  override ended(): void {
    const terminal = this.object.terminal();
    if (!terminal) return this.refuse(endless());
    this.settle();
    this.response.writeHead(200, {
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(terminal.json),
      ...headerFields(this.headers),
    });
    this.response.end(terminal.json);
  }

  override failed(fault: Fault): void {
    this.refuse(fault);
  }
}

/** `stream: true`. */
export class StreamExchange extends Exchange {
  readonly #ladder: Ladder;
  readonly #stream: EventStream;
  readonly #gate: NodeJS.Timeout;

  /** @param gateMs how long the 200 waits for the first event */
  constructor(
    response: ServerResponse,
    object: ResponseObject,
    headers: ExchangeHeaders,
    settled: Settled,
    options: { readonly keepAlive: KeepAlive; readonly gateMs: number },
  ) {
    super(response, object, headers, settled);
    this.#ladder = new Ladder(object);
    this.#stream = new EventStream(response, options.keepAlive, () => this.resume());
    this.#gate = setTimeout(() => this.#begin(this.#ladder.open()), options.gateMs);
  }

  override events(events: readonly TurnEvent[]): void {
    const text = this.#ladder.events(events);
    if (!this.#stream.begun) return this.#begin(text + this.#ladder.open());
    if (text !== "" && !this.#stream.write(text)) this.pause();
  }

  override ended(): void {
    if (!this.object.terminal()) return this.failed(endless());
    this.settle();
    this.#stream.end("");
  }

  override failed(fault: Fault): void {
    if (!this.#stream.begun) return this.refuse(fault);
    this.settle(fault);
    this.#stream.end(this.#ladder.failed(fault));
  }

  protected override settle(fault?: Fault): void {
    clearTimeout(this.#gate);
    super.settle(fault);
  }

  #begin(text: string): void {
    if (this.over || this.#stream.begun) return;
    clearTimeout(this.#gate);
    this.#stream.begin(headerFields(this.headers));
    if (!this.#stream.write(text)) this.pause();
  }
}
