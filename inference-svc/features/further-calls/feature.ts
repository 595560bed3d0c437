/**
 * Marks turns that may make further calls: agent loops, panels, judged answers. From the first admitted call of such a
 * turn on, budgets reserve an amount for its other calls: many such turns at once must not all begin, be paid for, and
 * then fail for lack of budget.
 */
import { ForwardedAnswer } from "../../turn/answer-kinds.ts";
import type { Answer, Batch } from "../../turn/turn.ts";
import type { CallingFeature } from "../kit.ts";
import { applies } from "../applies.ts";

export const furtherCalls: CallingFeature = {
  id: "further-calls",
  applies: applies.furtherCalls,
  layer:
    ({ budgets }) =>
    (next) =>
    (request, scope) => {
      // No budget applies, so there is nothing to reserve. The workspace may have budgets only for tags this turn
      // lacks.
      if (!scope.hasBudget) return next(request, scope);
      const end = budgets.begin(scope);
      try {
        return new WatchedAnswer(next(request, scope), end);
      } catch (error) {
        end();
        throw error;
      }
    },
  dryRun: () => (next) => next,
};

/** Releases the turn's reserved budget when its answer ends. */
class WatchedAnswer extends ForwardedAnswer {
  readonly #end: () => void;

  constructor(answer: Answer, end: () => void) {
    super(answer);
    this.#end = end;
  }

  protected override passed(batch: Batch): Batch {
    return batch;
  }

  protected override failed(error: unknown): unknown {
    this.#end();
    return error;
  }

  protected override ended(): void {
    this.#end();
  }

  protected override left(): void {
    this.#end();
  }
}
