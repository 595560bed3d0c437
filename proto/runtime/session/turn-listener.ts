/** The two ends of a turn between the code that runs it and the code that answers with its events. */
import type { TurnEvent } from "../../gen/sluice/inference/v1/turn_pb.ts";
import type { Fault } from "../fault.ts";

export interface TurnListener {
  /** inference-svc has the whole request and has begun to work on it. Called once, before all others. */
  accepted?(): void;
  /** @param cost approximate size in bytes */
  events(events: readonly TurnEvent[], cost: number): void;
  /** Nothing follows. */
  ended(): void;
  /** Nothing follows. `accepted` says that inference-svc has begun to work on the turn, so it must not be repeated. */
  failed(fault: Fault, accepted: boolean): void;
}

/** Lets a listener pause, resume or cancel its turn. */
export interface TurnControl {
  /** Asks for no further events, for a client that does not read. A few that are under way may still come. */
  pause(): void;
  resume(): void;
  /** Ends the turn; its listener is not called again. */
  cancel(): void;
}
