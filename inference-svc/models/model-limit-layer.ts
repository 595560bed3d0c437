/** Refuses calls of a model beyond its limits. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { ForwardedAnswer, toDeferredAnswer } from "../turn/answer-kinds.ts";
import type { TurnModelLimits } from "../turn/model-limits.ts";
import type { TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import type { Answer, Batch, Turn } from "../turn/turn.ts";

/** Wraps a turn so it calls a model only within the model's limits. */
export const modelLimitLayer =
  (model: string, turn: Turn): Turn =>
  (request, scope) => {
    const limits = scope.modelLimits;
    if (limits === undefined) return turn(request, scope);
    const refusal = limits.enter(model);
    if (refusal === undefined) return begin({ model, limits, turn }, request, scope);
    if (refusal instanceof Fault) throw refusal;
    return toDeferredAnswer(
      refusal.then((fault) => {
        if (fault) throw fault;
        return begin({ model, limits, turn }, request, scope);
      }),
    );
  };

interface PlacedCall {
  readonly model: string;
  readonly limits: TurnModelLimits;
  readonly turn: Turn;
}

function begin({ model, limits, turn }: PlacedCall, request: TurnRequest, scope: Scope): Answer {
  let answer: Answer;
  try {
    answer = turn(request, scope);
  } catch (error) {
    limits.giveBack(model);
    throw error;
  }
  return new PlacedAnswer(answer, () => limits.giveBack(model));
}

/** Releases the concurrency slot of a call that was not made, because it failed or was cancelled before its first event. */
class PlacedAnswer extends ForwardedAnswer {
  #giveBack: (() => void) | undefined;

  constructor(answer: Answer, giveBack: () => void) {
    super(answer);
    this.#giveBack = giveBack;
  }

  protected override passed(batch: Batch): Batch {
    this.#giveBack = undefined;
    return batch;
  }

  protected override failed(error: unknown): unknown {
    this.#over();
    return error;
  }

  protected override left(): void {
    this.#over();
  }

  #over(): void {
    this.#giveBack?.();
    this.#giveBack = undefined;
  }
}
