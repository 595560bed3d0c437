/** The last event of an answer. */
import type { Outcome, TurnEvent } from "../../../turn/turn.ts";

/** The end event. Unset fields are written as undefined, so every outcome has the same hidden class in V8. */
export function answerEnd(
  status: Outcome["status"],
  reason: Outcome["reason"],
  usage: Outcome["usage"],
  serviceTier: string,
  stopSequence?: string,
  detail?: Outcome["detail"],
): TurnEvent {
  const outcome: { [Field in keyof Required<Omit<Outcome, "alignment">>]: Outcome[Field] } = {
    status,
    reason,
    detail,
    usage,
    serviceTier,
    stopSequence,
  };
  return { type: "end", outcome };
}
