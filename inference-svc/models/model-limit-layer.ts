/** Holds the calls of a model to its limits. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { toDeferredAnswer } from "../turn/answer-kinds.ts";
import type { Turn } from "../turn/turn.ts";

/** Lets a turn call a model only within the limits of the model. */
export const modelLimitLayer =
  (model: string, turn: Turn): Turn =>
  (request, scope) => {
    const refusal = scope.modelLimits?.enter(model);
    if (refusal === undefined) return turn(request, scope);
    if (refusal instanceof Fault) throw refusal;
    return toDeferredAnswer(
      refusal.then((fault) => {
        if (fault) throw fault;
        return turn(request, scope);
      }),
    );
  };
