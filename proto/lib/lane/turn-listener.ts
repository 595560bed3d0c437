/** Interfaces of the two ends of a turn: the code that runs it, and the code that sends its events to the client. */
import type { TurnEvent } from "../../gen/sluice/inference/v1/turn_pb.ts";
import type { Fault } from "../faults/fault.ts";

export interface TurnListener {
  /** Called once, before any event, when inference-svc has the whole request and has begun its work. */
  accepted?(): void;
  /** Receives events. @param cost their approximate size in bytes */
  events(events: readonly TurnEvent[], cost: number): void;
  /** Called after the last event. */
  ended(): void;
  /**
   * Called when the turn has failed; no event follows. @param mayHaveBegun false if the turn was not sent to
   * inference-svc, so another process may get it
   */
  failed(fault: Fault, mayHaveBegun: boolean): void;
}

/** Lets a listener pause, resume or cancel its turn. */
export interface TurnControl {
  /** Pauses the events for a client that reads too slowly. A few events in transit may still arrive. */
  pause(): void;
  resume(): void;
  /** Cancels the turn; its listener is not called again. */
  cancel(): void;
}
