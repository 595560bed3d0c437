/**
 * The client's end of a lane: a session with one inference process, which reconnects automatically. It uses callbacks, not promises, because it runs
 * for every event of every stream.
 */
import type {
  ClientFrame,
  Hindrance,
  Open,
  ServerFrame,
  SessionResponse,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { type RunTurnRequest, RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type FairShares, eventLoop } from "@sluice/proto/lib/load/fair-shares.js";
import type { Connect, Link } from "@sluice/proto/lib/lane/link.js";
import { Outbox, measureOpenMessage, turnCredit } from "@sluice/proto/lib/lane/outbox.js";
import {
  type SupportedFields,
  supportedByPeer,
  lacksFieldsOf,
  supportedFieldsOf,
  unsupportedFieldIn,
} from "@sluice/proto/lib/rpc/supported-fields.js";
import type { TurnControl, TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";
import { SlotMap } from "@sluice/proto/lib/load/slot-map.js";
import { OpenTurn } from "./open-turn.ts";
import { TurnsByKey, WaitingTurns } from "./waiting.ts";

const maxBackoffMs = 500;
const own = supportedFieldsOf(RunTurnRequestSchema);
const interrupted = () =>
  new Fault(FaultReason.PROVIDER_FAILED, "The turn was interrupted", { origin: FaultOrigin.INFERENCE });

const levelOf = ({ cause, partial }: Hindrance): "partial" | "whole" | undefined =>
  cause === "" ? undefined : partial ? "partial" : "whole";

export class Lane {
  readonly address: string;
  readonly #openLink: Connect;
  readonly #loop: FairShares;
  readonly #turns = new SlotMap<number, OpenTurn>();
  #link: Link | undefined;
  #outbox: Outbox<ClientFrame> | undefined;
  /** The request fields that the process knows, if they are fewer than those of this build. */
  #behind: SupportedFields | undefined;
  #ready = false;
  #failure: Error | undefined;
  #draining = false;
  #hindrance: "partial" | "whole" | undefined;
  #stopped = false;
  #nextId = 1;
  #backoffMs = 50;
  /** Turns that inference-svc has not acknowledged yet. */
  readonly waiting: WaitingTurns;

  /** @param waiting numbers of unacknowledged turns by key, over all lanes of the gateway */
  constructor(address: string, connect: Connect, waiting = new TurnsByKey(), loop = eventLoop) {
    this.address = address;
    this.#openLink = connect;
    this.waiting = new WaitingTurns(waiting);
    this.#loop = loop;
    this.#connect();
  }

  /** Whether turns may be opened: the process has sent its hello and is not draining. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Whether a problem of the process prevents its work, partly or wholly; undefined without such a problem. */
  get hindrance(): "partial" | "whole" | undefined {
    return this.#hindrance;
  }

  /** Error at the end of the last session; undefined after an orderly end. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get openTurns(): number {
    return this.#turns.size;
  }

  /** Path of the first field of a request that the process does not know; undefined if it knows all. */
  findUnknown(request: RunTurnRequest | undefined): string | undefined {
    return this.#behind && request && unsupportedFieldIn(this.#behind, RunTurnRequestSchema, request);
  }

  /** Opens a turn. The lane must be ready; it keeps the open message and fills in its credit. */
  open(open: Open, listener: TurnListener): TurnControl {
    const id = this.#nextId++;
    const turn = new OpenTurn(this, id, open.keyHash, listener);
    turn.requestBytes = measureOpenMessage(open);
    this.#turns.set(id, turn);
    open.credit = turnCredit;
    if (this.waiting.add(id, open, turn.requestBytes)) this.#sendOpen(id, turn, open);
    else this.#handOver();
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

  /** Fails every open turn, and cancels it in inference-svc. */
  endTurns(fault: Fault): void {
    const ending = this.#turns.values();
    for (const turn of ending) turn.cancel();
    for (const turn of ending) turn.listener.failed(fault, true);
  }

  /** Stops reconnecting. Open turns continue to their end. */
  stop(): void {
    this.#stopped = true;
    this.#ready = false;
    this.#draining = true;
    this.#settle();
  }

  #handOver(): void {
    for (let next = this.waiting.take(); next; next = this.waiting.take()) {
      this.#sendOpen(next.id, this.#turns.get(next.id) as OpenTurn, next.open);
    }
  }

  #sendOpen(id: number, turn: OpenTurn, open: Open): void {
    turn.isSent = true;
    this.#push(id, { case: "open", value: open }, turn.requestBytes);
  }

  #begun({ keyHash, requestBytes }: OpenTurn): void {
    this.waiting.begun(keyHash, requestBytes);
    this.#handOver();
  }

  #push(id: number, frame: ClientFrame["frame"], bytes: number): void {
    this.#outbox?.push({ $typeName: "sluice.inference.v1.ClientFrame", turn: id, frame }, bytes);
  }

  #connect(): void {
    this.#draining = false;
    this.#hindrance = undefined;
    const link = this.#openLink({
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
    for (const turn of this.#turns.clear()) turn.listener.failed(interrupted(), turn.isSent);
    if (this.#stopped) return;
    setTimeout(() => this.#stopped || this.#connect(), this.#backoffMs * (0.5 + Math.random()));
    this.#backoffMs = Math.min(maxBackoffMs, this.#backoffMs * 2);
  }

  #receive(message: SessionResponse): void {
    if (message.hello) {
      const known = supportedByPeer(message.hello.knows);
      this.#behind = lacksFieldsOf(known, own) ? known : undefined;
    }
    if (message.hindrance) this.#hindrance = levelOf(message.hindrance);
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

  /** Takes a frame and delivers its event when it is the key's turn, because the same message may contain a thousand events of other keys. */
  #take({ turn: id, frame, last }: ServerFrame): void {
    const turn = this.#turns.get(id);
    if (!turn) return;
    // A fault as the first frame is no acknowledgement, so the turn may still go to another process.
    if (!turn.accepted && frame.case !== "fault") {
      turn.accepted = true;
      this.#begun(turn);
      turn.listener.accepted?.();
    }
    if (this.#loop.hasTime()) return this.#deliver(id, turn, frame, last);
    this.#loop.wait(turn.keyHash, () => {
      if (this.#turns.get(id) === turn) this.#deliver(id, turn, frame, last);
    });
  }

  /** Delivers a frame to its turn. Errors are caught, so that a bug in one turn does not affect other turns of the same message. */
  #deliver(id: number, turn: OpenTurn, frame: ServerFrame["frame"], last: boolean): void {
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

  /** Ends a draining session after its last turn. */
  #settle(): void {
    if (!this.#draining || this.#turns.size > 0 || !this.#link) return;
    this.#draining = false;
    this.#outbox?.flush();
    this.#link.close();
  }
}
