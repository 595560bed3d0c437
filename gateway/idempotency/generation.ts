/**
 * One turn for all requests of a key that carry the same Idempotency-Key and the same body while it runs. Each client hears everything from the
 * beginning. The turn goes at the pace of the fastest, and is cancelled when the last has left.
 */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { TurnControl, TurnListener } from "../lane/lane.ts";
import { EventLog, type LogRoom } from "./event-log.ts";
import { Follower, type Source } from "./follower.ts";

/** Of what was said, kept for those who come later; and how far behind the fastest a client may be. */
const mostLoggedBytes = 4_194_304;
/** Clients of one generation. */
const mostMembers = 1_024;

/** It runs, and nobody can join it: to ask again when it is over is all that is left. */
export const inFlight = (): Fault =>
  new Fault(FaultReason.RATE_LIMITED, "A request with this Idempotency-Key is running", {
    retryAfterMs: 1_000,
    origin: FaultOrigin.GATEWAY,
    metadata: { error_type: "rate_limit_exceeded" },
  });

/** A request that belongs to a generation, from its headers on. */
export interface Member {
  /** Hears the turn from its beginning. @param cut breaks the connection when the client reads too slowly */
  follow(listener: TurnListener, cut: () => void): TurnControl;
  /** Only the first call counts. */
  readonly leave: () => void;
}

/** What the first request of a generation has come to. */
interface Opened<Asked> {
  /** Undefined when its body was never read. */
  readonly fingerprint: string | undefined;
  /** What the turn was opened with, or why there is none. */
  readonly outcome: Asked | Fault;
}

/** @template Asked what a turn is opened with */
export class Generation<Asked> implements TurnListener, Source {
  readonly log: EventLog;
  readonly #room: LogRoom;
  readonly #closed: () => void;
  readonly #followers = new Set<Follower>();
  readonly #opened: Promise<Opened<Asked>>;
  #open: (opened: Opened<Asked>) => void = () => {};
  #fingerprint: string | undefined;
  #control: TurnControl | undefined;
  #settled: (left: boolean) => void = () => {};
  #members = 0;
  #isHeld = false;
  #isJoinable = true;
  #isClosed = false;
  end: Source["end"];

  /** @param closed called when it can be found no longer: what was asked may be asked anew */
  constructor(room: LogRoom, closed: () => void) {
    this.log = new EventLog(room);
    this.#room = room;
    this.#closed = closed;
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** @throws Fault RATE_LIMITED when nobody can join any more */
  join(): Member {
    if (!this.#isJoinable || this.#members >= mostMembers) throw inFlight();
    this.#members++;
    let follower: Follower | undefined;
    let isIn = true;
    const leave = () => {
      if (!isIn) return;
      isIn = false;
      follower?.cancel();
      if (--this.#members === 0) this.#abandon();
    };
    return { follow: (listener, cut) => (follower = this.#follow(listener, cut)), leave };
  }

  /** The first request has been read. @param fingerprint of its body and of what else decides about the answer */
  read(fingerprint: string): void {
    this.#fingerprint = fingerprint;
  }

  /**
   * @param open throws where no turn can be opened
   * @param settled called exactly once after that: whether all clients left before the end
   */
  opened(asked: Asked, open: (listener: TurnListener) => TurnControl, settled: (left: boolean) => void): void {
    this.#control = open(this);
    this.#settled = settled;
    this.#open({ fingerprint: this.#fingerprint, outcome: asked });
  }

  /** There will be no turn. */
  refused(fault: Fault): void {
    this.#close();
    this.#open({ fingerprint: this.#fingerprint, outcome: fault });
  }

  /**
   * What the turn was opened with, once it is.
   * @throws Fault that the first request was refused with, if this one is the same; UNPROCESSABLE if it is another; RATE_LIMITED if nobody knows
   */
  async asked(fingerprint: string): Promise<Asked> {
    const { fingerprint: first, outcome } = await this.#opened;
    const isSame = first === fingerprint;
    if (isSame && outcome instanceof Fault) throw outcome;
    if (outcome instanceof Fault) throw inFlight();
    if (isSame) return outcome;
    throw new Fault(FaultReason.UNPROCESSABLE, "idempotency-key: another request is running under this key", {
      origin: FaultOrigin.CLIENT,
    });
  }

  events(events: readonly TurnEvent[], cost: number): void {
    this.log.add(events, cost);
    for (const follower of this.#followers) follower.pump();
    if (this.log.cost > mostLoggedBytes || this.#room.isFull) this.#isJoinable = false;
    if (!this.#isJoinable) this.#forget();
    this.moved();
  }

  ended(): void {
    this.#finish(undefined, true);
  }

  failed(fault: Fault, accepted: boolean): void {
    this.#finish(fault, accepted);
  }

  /** Somebody has to read on for the turn to go on. */
  moved(): void {
    const isHeld = this.#followers.size > 0 && !this.#anyWaits;
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    if (isHeld) this.#control?.pause();
    else this.#control?.resume();
  }

  left(follower: Follower): void {
    this.#followers.delete(follower);
    this.moved();
  }

  get #anyWaits(): boolean {
    for (const follower of this.#followers) if (follower.waits) return true;
    return false;
  }

  #follow(listener: TurnListener, cut: () => void): Follower {
    if (!this.log.isWhole) throw inFlight();
    const follower = new Follower(this, listener, cut);
    this.#followers.add(follower);
    // Whoever follows has to hold the control before it can be told to pause.
    queueMicrotask(() => {
      follower.pump();
      this.moved();
    });
    return follower;
  }

  /** When nobody can join any more, only what the slower ones need is kept; who is too far behind the fastest is cut. */
  #forget(): void {
    for (;;) {
      const places = [...this.#followers].map(({ next }) => next);
      const [slowest, fastest] = [Math.min(this.log.end, ...places), Math.max(0, ...places)];
      this.log.dropUntil(slowest);
      if (this.log.costBefore(fastest) - this.log.costBefore(slowest) <= mostLoggedBytes) return;
      for (const follower of this.#followers) if (follower.next === slowest) follower.cut();
    }
  }

  /** Once: afterwards another generation may have its name. */
  #close(): void {
    this.#isJoinable = false;
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closed();
  }

  #finish(fault: Fault | undefined, accepted: boolean): void {
    this.end = { fault, accepted };
    this.#close();
    this.#settled(false);
    for (const follower of this.#followers) follower.pump();
  }

  /** Everybody has left: nothing is kept, and nothing goes on. */
  #abandon(): void {
    if (!this.end) {
      this.#close();
      this.#control?.cancel();
      this.#settled(true);
    }
    this.log.dropUntil(this.log.end);
  }
}
