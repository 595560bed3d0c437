/** A response on a WebSocket: from its frame to its last event. */
import { create } from "@bufbuild/protobuf";
import {
  TurnEndSchema,
  type TurnEvent,
  TurnEventSchema,
  TurnStatus,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { ResponseIdentity } from "@sluice/proto/lib/responses/identity.js";
import { ResponseObject } from "@sluice/proto/lib/responses/object.js";
import { type Account, heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import type { TurnControl, TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";
import { measureEvents } from "../../../edge/turns/answer-writer.ts";
import type { CapturedTurn } from "../../../edge/turns/captured-turn.ts";
import { Ladder } from "../ladder.ts";

/** The connection, as far as a response needs it to send events. */
export interface EventReceiver {
  send(frames: readonly string[]): void;
  /** Called once, at the end of the response. @param fault undefined for a successful response @param refused whether no event was sent */
  finished(fault: Fault | undefined, refused: boolean): void;
}

const cancelled = () =>
  new Fault(FaultReason.DEADLINE_EXCEEDED, "The client cancelled the response", { origin: FaultOrigin.CLIENT });
const endless = () =>
  new Fault(FaultReason.PROVIDER_FAILED, "The turn was interrupted", { origin: FaultOrigin.INFERENCE });

const dataField = "data: ";

/** The data of each event in the text of a stream. The marker at the stream's end is not an event. */
function dataOf(text: string): string[] {
  const frames: string[] = [];
  for (const block of text.split("\n\n")) {
    const at = block.indexOf(`${dataField}{`);
    if (at !== -1) frames.push(block.slice(at + dataField.length));
  }
  return frames;
}

export class SocketTurn implements TurnListener {
  readonly #receiver: EventReceiver;
  readonly #captured: CapturedTurn | undefined;
  readonly #object: ResponseObject;
  readonly #ladder: Ladder;
  #control: TurnControl | undefined = undefined;
  #held: Account | undefined = undefined;
  #begun = false;
  #over = false;

  /** @param captured receives the answer if the key allows captured content */
  constructor(receiver: EventReceiver, identity: ResponseIdentity, captured: CapturedTurn | undefined) {
    this.#receiver = receiver;
    this.#captured = captured;
    this.#object = new ResponseObject(identity);
    this.#ladder = new Ladder(this.#object);
  }

  get id(): string {
    return this.#object.id;
  }

  /** JSON of the items of an ended response, joined by commas. */
  get items(): string {
    return this.#object.output.join(",");
  }

  /** @param keyHash hash of the key that requested the response @param open opens the turn */
  start(keyHash: string, open: (listener: TurnListener) => TurnControl): void {
    this.#held = heldBytes.open(keyHash, (fault) => {
      this.#control?.cancel();
      this.failed(fault);
    });
    this.#control = open(this);
  }

  events(events: readonly TurnEvent[], cost: number): void {
    if (this.#held?.tryGrow(measureEvents(events.length, cost)) === false) return;
    this.#send(this.#ladder.events(events));
  }

  ended(): void {
    if (this.#ladder.over) this.#finish(undefined);
    else this.failed(endless());
  }

  failed(fault: Fault): void {
    if (this.#begun) this.#send(this.#ladder.failed(fault));
    this.#finish(fault);
  }

  /** Answers without calling a model, with an empty output. */
  prepare(): void {
    const value = create(TurnEndSchema, { status: TurnStatus.COMPLETED, serviceTier: "default" });
    this.#send(this.#ladder.events([create(TurnEventSchema, { event: { case: "end", value } })]));
    this.ended();
  }

  /** Cancels the turn without further events, because the client has left. */
  abandon(): void {
    this.#over = true;
    this.#held?.release();
    this.#control?.cancel();
  }

  /** Cancels the turn, and ends the response as failed. */
  cancel(): void {
    this.#control?.cancel();
    if (!this.#over) this.failed(cancelled());
  }

  pause(): void {
    this.#control?.pause();
  }

  resume(): void {
    this.#control?.resume();
  }

  #send(text: string): void {
    if (text === "" || this.#over) return;
    this.#begun = true;
    this.#captured?.add(text);
    this.#receiver.send(dataOf(text));
  }

  #finish(fault: Fault | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#held?.release();
    this.#receiver.finished(fault, !this.#begun);
  }
}
