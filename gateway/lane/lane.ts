/**
 * The client's end of the lane: one session to one inference process, reconnecting by itself.
 *
 * Callbacks, not promises: this runs for every event of every stream.
 */
import type {
  Batch,
  ClientFrame,
  Open,
  ServerFrame,
  SessionResponse,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import {
  type RunTurnRequest,
  RunTurnRequestSchema,
  type TurnEvent,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { eventLoop } from "@sluice/proto/runtime/fair-shares.js";
import { Outbox, turnCredit } from "@sluice/proto/runtime/outbox.js";
import { type Knowledge, greeted, isBehind, knowledgeOf, unknownTo } from "@sluice/proto/runtime/rpc/knowledge.js";
import { TurnTable } from "@sluice/proto/runtime/turn-table.js";
import type { Link, Transport } from "./link.ts";
import { WaitingTurns } from "./waiting.ts";

export interface TurnListener {
  /** inference-svc has the whole request, and has begun to work on it. Comes once, before all others. */
  accepted?(): void;
  /** @param cost about the size in bytes */
  events(events: readonly TurnEvent[], cost: number): void;
  /** Nothing follows. */
  ended(): void;
  /** Nothing follows. `accepted`: inference-svc has begun to work on the turn, so it may not be repeated. */
  failed(fault: Fault, accepted: boolean): void;
}

/** What a listener can do with its turn. */
export interface TurnControl {
  /** The HTTP client does not read: no further credit is given. */
  pause(): void;
  resume(): void;
  /** The listener hears nothing more. */
  cancel(): void;
}

class LaneTurn implements TurnControl {
  readonly #lane: Lane;
  readonly #id: number;
  readonly listener: TurnListener;
  readonly keyHash: string;
  accepted = false;
  /** About the size of its request. */
  requestBytes = 0;
  #owed = 0;
  #paused = false;

  constructor(lane: Lane, id: number, keyHash: string, listener: TurnListener) {
    this.#lane = lane;
    this.keyHash = keyHash;
    this.#id = id;
    this.listener = listener;
  }

  receive(batch: Batch): void {
    if (batch.events.length > 0) this.listener.events(batch.events, batch.cost);
    this.#owed += batch.cost;
    if (!this.#paused) this.#grant();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#grant();
  }

  cancel(): void {
    this.#lane.forget(this.#id, true);
  }

  #grant(): void {
    if (this.#owed < turnCredit / 2) return;
    this.#lane.send(this.#id, { case: "credit", value: this.#owed });
    this.#owed = 0;
  }
}

const maxBackoffMs = 500;
const own = knowledgeOf(RunTurnRequestSchema);
const interrupted = () =>
  new Fault(FaultReason.PROVIDER_FAILED, "The turn was interrupted", { origin: FaultOrigin.INFERENCE });

export class Lane {
  readonly address: string;
  readonly #transport: Transport;
  readonly #turns = new TurnTable<LaneTurn>();
  #link: Link | undefined;
  #outbox: Outbox<ClientFrame> | undefined;
  /** What the process over there knows of requests, where it is less than this one does. */
  #behind: Knowledge | undefined;
  #ready = false;
  #failure: Error | undefined;
  #draining = false;
  #stopped = false;
  #nextId = 1;
  #backoffMs = 50;
  /** Turns that nobody over there has begun to work on. */
  readonly waiting = new WaitingTurns();

  constructor(address: string, transport: Transport) {
    this.address = address;
    this.#transport = transport;
    this.#connect();
  }

  /** Greeted, not draining: turns may be opened. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Of the session before; undefined when that ended in good order. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get openTurns(): number {
    return this.#turns.size;
  }

  /** Path of what a request has and the process over there has never heard of; undefined when it knows all of it. */
  unknown(request: RunTurnRequest | undefined): string | undefined {
    return this.#behind && request && unknownTo(this.#behind, RunTurnRequestSchema, request);
  }

  /** Only on a ready lane. The open message is handed over: its credit is set here. */
  open(open: Open, listener: TurnListener): TurnControl {
    const id = this.#nextId++;
    const turn = new LaneTurn(this, id, open.keyHash, listener);
    turn.requestBytes = 256 + (open.request?.inputJson.length ?? 0) + (open.request?.toolsJson.length ?? 0);
    this.#turns.add(id, turn);
    open.credit = turnCredit;
    this.waiting.add({ id, open, bytes: turn.requestBytes });
    this.#handOver();
    return turn;
  }

  send(id: number, frame: ClientFrame["frame"]): void {
    if (this.#turns.get(id)) this.#push(id, frame, 8);
  }

  forget(id: number, cancel: boolean): void {
    const turn = this.#turns.get(id);
    if (!turn) return;
    this.#turns.delete(id);
    const sent = !this.waiting.drop(id, turn.keyHash);
    if (sent && cancel) this.#push(id, { case: "cancel", value: { $typeName: "sluice.inference.v1.Cancel" } }, 8);
    if (sent && !turn.accepted) this.#begun(turn);
    this.#settle();
  }

  /** Fails every open turn, and stops it over there. */
  endTurns(fault: Fault): void {
    const ending = this.#turns.values();
    for (const turn of ending) turn.cancel();
    for (const turn of ending) turn.listener.failed(fault, true);
  }

  /** No reconnect; turns that are open run to their end. */
  stop(): void {
    this.#stopped = true;
    this.#ready = false;
    this.#draining = true;
    this.#settle();
  }

  #handOver(): void {
    for (let next = this.waiting.take(); next; next = this.waiting.take()) {
      const { id, open, bytes } = next;
      this.#push(id, { case: "open", value: open }, bytes);
    }
  }

  #begun({ keyHash, requestBytes }: LaneTurn): void {
    this.waiting.begun(keyHash, requestBytes);
    this.#handOver();
  }

  #push(id: number, frame: ClientFrame["frame"], bytes: number): void {
    this.#outbox?.push({ $typeName: "sluice.inference.v1.ClientFrame", turn: id, frame }, bytes);
  }

  #connect(): void {
    this.#draining = false;
    const link = this.#transport.connect({
      message: (message) => {
        if (link === this.#link) this.#receive(message);
      },
      drained: () => {
        if (link === this.#link) this.#outbox?.drained();
      },
      closed: (error) => {
        if (link === this.#link) this.#lost(error);
      },
    });
    this.#link = link;
    this.#outbox = new Outbox((frames) => link.write({ $typeName: "sluice.inference.v1.SessionRequest", frames }));
  }

  #lost(error: Error | undefined): void {
    this.#ready = false;
    this.#failure = error;
    this.#link = undefined;
    this.waiting.clear();
    for (const turn of this.#turns.clear()) turn.listener.failed(interrupted(), turn.accepted);
    if (this.#stopped) return this.#transport.close();
    setTimeout(
      () => {
        if (this.#stopped) this.#transport.close();
        else this.#connect();
      },
      this.#backoffMs * (0.5 + Math.random()),
    );
    this.#backoffMs = Math.min(maxBackoffMs, this.#backoffMs * 2);
  }

  #receive(message: SessionResponse): void {
    if (message.hello) {
      const known = greeted(message.hello.knows);
      this.#behind = isBehind(known, own) ? known : undefined;
    }
    if (message.hello && !message.draining && !this.#stopped) {
      this.#ready = true;
      this.#backoffMs = 50;
    }
    if (message.draining) {
      this.#ready = false;
      this.#draining = true;
      this.#settle();
    }
    for (const frame of message.frames) this.#take(frame);
  }

  /** The event of a frame is written to its client in the turn of its key: a thousand events of others may have come in the same message. */
  #take({ turn: id, frame, last }: ServerFrame): void {
    const turn = this.#turns.get(id);
    if (!turn) return;
    if (!turn.accepted) {
      turn.accepted = true;
      this.#begun(turn);
      turn.listener.accepted?.();
    }
    if (eventLoop.hasTime()) return this.#deliver(id, turn, frame, last);
    eventLoop.wait(turn.keyHash, () => {
      if (this.#turns.get(id) === turn) this.#deliver(id, turn, frame, last);
    });
  }

  /** A bug that shows in one turn must not touch its neighbours in the same message. */
  #deliver(id: number, turn: LaneTurn, frame: ServerFrame["frame"], last: boolean): void {
    try {
      if (last) this.forget(id, false);
      if (frame.case === "fault") return turn.listener.failed(Fault.fromMessage(frame.value), true);
      if (frame.case === "batch") turn.receive(frame.value);
      if (last) turn.listener.ended();
    } catch (error) {
      this.forget(id, true);
      turn.listener.failed(Fault.from(error), true);
    }
  }

  /** The client ends a draining session, once its last turn has ended. */
  #settle(): void {
    if (!this.#draining || this.#turns.size > 0 || !this.#link) return;
    this.#draining = false;
    this.#outbox?.flush();
    this.#link.close();
  }
}
