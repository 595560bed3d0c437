/**
 * A turn shared by concurrent requests of a key with the same Idempotency-Key and the same body. Each client gets every event from the beginning. The turn
 * runs at the pace of the fastest client, and is cancelled when the last client has left.
 */
import { equals } from "@bufbuild/protobuf";
import { type Caller, CallerSchema } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import type { TurnEvent } from "../../gen/sluice/inference/v1/turn_pb.ts";
import { Fault, FaultOrigin, FaultReason } from "../faults/fault.ts";
import type { TurnControl, TurnListener } from "../lane/turn-listener.ts";
import { EventLog, type EventLogMemory } from "./event-log.ts";
import { TurnFollower, type FollowedTurn } from "./turn-follower.ts";

/** Bytes of events kept for clients that join later, and the maximum lag of a client behind the fastest. */
const maxLoggedBytes = 4_194_304;
/** Maximum number of clients of a generation. */
const maxClients = 1_024;

/** Refuses a request that cannot join the running turn: its client has to retry after the end of the turn. */
const inFlight = (): Fault =>
  new Fault(FaultReason.RATE_LIMITED, "A request with this Idempotency-Key is running", {
    retryAfterMs: 1_000,
    origin: FaultOrigin.CLIENT,
    metadata: { error_type: "rate_limit_exceeded" },
  });

/** A prepared turn, open to further requests. */
export interface KeyedTurn {
  /** The key of the turn with its policy. */
  readonly key: Caller;
}

/** A request that belongs to a generation, from its headers on. */
export interface JoinedRequest {
  /** Reads the turn from its beginning. @param cut closes the connection when the client reads too slowly */
  follow(listener: TurnListener, cut: () => void): TurnControl;
  /** Further calls do nothing. */
  readonly leave: () => void;
}

/** Progress callbacks of a shared turn for the request that opened it. */
interface OpenedHooks {
  /** Called once, when inference-svc has the whole request. */
  readonly accepted?: () => void;
  /** Called exactly once, after the end. @param left whether all clients left before it */
  readonly settled: (left: boolean) => void;
}

/** The outcome of the first request of a generation. */
interface Opened<Turn> {
  /** Undefined when the body of the first request was never read. */
  readonly fingerprint: string | undefined;
  /** The prepared turn, or the fault that prevented it. */
  readonly outcome: Turn | Fault;
}

export class Generation<Turn extends KeyedTurn> implements TurnListener, FollowedTurn {
  readonly log: EventLog;
  readonly #room: EventLogMemory;
  readonly #closed: () => void;
  readonly #followers = new Set<TurnFollower>();
  readonly #opened: Promise<Opened<Turn>>;
  #open: (opened: Opened<Turn>) => void = () => {};
  #fingerprint: string | undefined;
  #control: TurnControl | undefined;
  #hooks: OpenedHooks = { settled: () => {} };
  #members = 0;
  #isHeld = false;
  #isJoinable = true;
  #isClosed = false;
  end: FollowedTurn["end"];

  /** @param closed called when no further request may join, so the next request opens a new generation */
  constructor(room: EventLogMemory, closed: () => void) {
    this.log = new EventLog(room);
    this.#room = room;
    this.#closed = closed;
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** @throws Fault RATE_LIMITED when no further request can join */
  join(): JoinedRequest {
    if (!this.#isJoinable || this.#members >= maxClients) throw inFlight();
    this.#members++;
    let follower: TurnFollower | undefined;
    let isIn = true;
    const leave = () => {
      if (!isIn) return;
      isIn = false;
      follower?.cancel();
      if (--this.#members === 0) this.#abandon();
    };
    return { follow: (listener, cut) => (follower = this.#follow(listener, cut)), leave };
  }

  /** Called when the first request has been read. @param fingerprint of its body and of everything else that determines the answer */
  read(fingerprint: string): void {
    this.#fingerprint = fingerprint;
  }

  /** @param open throws when no turn can be opened; no hook is called then */
  opened(turn: Turn, open: (listener: TurnListener) => TurnControl, hooks: OpenedHooks): void {
    this.#control = open(this);
    this.#hooks = hooks;
    this.#open({ fingerprint: this.#fingerprint, outcome: turn });
  }

  /** Called when the first request fails before it opens a turn. */
  refused(fault: Fault): void {
    this.#close();
    this.#open({ fingerprint: this.#fingerprint, outcome: fault });
  }

  /**
   * Waits for the prepared turn. A request cannot join under another policy, because a policy change applies to every later request.
   * @throws the Fault of the first request, when this request is equal; Fault UNPROCESSABLE for a different request; RATE_LIMITED when the two cannot be compared
   */
  async prepared(fingerprint: string, key: Caller): Promise<Turn> {
    const { fingerprint: first, outcome } = await this.#opened;
    const isSame = first === fingerprint;
    if (isSame && outcome instanceof Fault) throw outcome;
    if (outcome instanceof Fault) throw inFlight();
    if (isSame && equals(CallerSchema, outcome.key, key)) return outcome;
    if (isSame) throw inFlight();
    throw new Fault(FaultReason.UNPROCESSABLE, "idempotency-key: another request is running under this key", {
      origin: FaultOrigin.CLIENT,
    });
  }

  accepted(): void {
    this.#hooks.accepted?.();
  }

  events(events: readonly TurnEvent[], cost: number): void {
    this.log.add(events, cost);
    for (const follower of this.#followers) follower.pump();
    if (this.log.cost > maxLoggedBytes || this.#room.isFull) this.#isJoinable = false;
    if (!this.#isJoinable) this.#forget();
    this.moved();
  }

  ended(): void {
    this.#finish(undefined, true);
  }

  failed(fault: Fault, accepted: boolean): void {
    this.#finish(fault, accepted);
  }

  /** Pauses the turn while no client waits for the next batch. */
  moved(): void {
    const isHeld = this.#followers.size > 0 && !this.#anyWaits;
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    if (isHeld) this.#control?.pause();
    else this.#control?.resume();
  }

  left(follower: TurnFollower): void {
    this.#followers.delete(follower);
    this.moved();
  }

  get #anyWaits(): boolean {
    for (const follower of this.#followers) if (follower.waits) return true;
    return false;
  }

  #follow(listener: TurnListener, cut: () => void): TurnFollower {
    if (!this.log.isWhole) throw inFlight();
    const follower = new TurnFollower(this, listener, cut);
    this.#followers.add(follower);
    // The listener needs the returned control before the first event, since it may pause at this event.
    queueMicrotask(() => {
      follower.pump();
      this.moved();
    });
    return follower;
  }

  /** Drops batches no longer needed by any client, once no further request can join. A client too far behind the fastest is disconnected. */
  #forget(): void {
    for (;;) {
      const places = [...this.#followers].map(({ next }) => next);
      const [slowest, fastest] = [Math.min(this.log.end, ...places), Math.max(0, ...places)];
      this.log.dropUntil(slowest);
      if (this.log.costBefore(fastest) - this.log.costBefore(slowest) <= maxLoggedBytes) return;
      for (const follower of this.#followers) if (follower.next === slowest) follower.cut();
    }
  }

  /** Calls back only once: later another generation may have the same name. */
  #close(): void {
    this.#isJoinable = false;
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closed();
  }

  #finish(fault: Fault | undefined, accepted: boolean): void {
    this.end = { fault, accepted };
    this.#close();
    this.#hooks.settled(false);
    for (const follower of this.#followers) follower.pump();
  }

  /** Cancels the turn and drops its events, when all clients have left. */
  #abandon(): void {
    if (!this.end) {
      this.#close();
      this.#control?.cancel();
      this.#hooks.settled(true);
    }
    this.log.dropUntil(this.log.end);
  }
}
