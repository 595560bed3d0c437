/** The two ends of a turn: the code that runs it, and the code that answers with its events. */
import type { TurnEvent } from "../../gen/sluice/inference/v1/turn_pb.ts";
import type { Fault } from "../faults/fault.ts";

export interface TurnListener {
  /** inference-svc has the whole request and has begun its work. Called once, before any event. */
  accepted?(): void;
  /** @param cost approximate size in bytes */
  events(events: readonly TurnEvent[], cost: number): void;
  /** Nothing follows. */
  ended(): void;
  /** Nothing follows. `mayHaveBegun` is false for a turn not sent to inference-svc, so another process may get it. */
  failed(fault: Fault, mayHaveBegun: boolean): void;
}

/** Lets a listener pause, resume or cancel its turn. */
export interface TurnControl {
  /** Pauses the events for a client that does not read. A few events under way may still arrive. */
  pause(): void;
  resume(): void;
  /** Ends the turn; its listener is not called again. */
  cancel(): void;
}
