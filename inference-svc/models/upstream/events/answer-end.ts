/** The last event of an answer. */
import type { Outcome, TurnEvent } from "../../../turn/turn.ts";

/**
 * The end event. Unset fields are written as undefined, so every outcome has the same hidden class in V8.
 * @param reason absent for an incomplete answer whose provider reports an end: a call of it breaks off
 */
export function answerEnd(
  status: Outcome["status"],
  reason: Outcome["reason"],
  usage: Outcome["usage"],
  serviceTier: string,
  stopSequence?: string,
  detail?: Outcome["detail"],
): TurnEvent {
  const isInferred = status === "incomplete" && reason === undefined;
  const outcome: { [Field in keyof Required<Omit<Outcome, "alignment">>]: Outcome[Field] } = {
    status,
    reason: reason ?? (isInferred ? "max_output_tokens" : undefined),
    detail,
    usage,
    serviceTier,
    stopSequence,
    isInferred: isInferred || undefined,
  };
  return { type: "end", outcome };
}
