/** A turn with the plugin `alignment`, as both of its modes see it. */
import type { CallContext } from "../../models/internal-calls/internal-call.ts";
import type { Evaluator } from "./evaluator.ts";
import type { Evaluated } from "./report.ts";
import type { Alignment } from "./settings.ts";

/** The request sent to the model, with the context of its turn. */
export interface AlignedTurn extends CallContext {
  readonly settings: Alignment;
  readonly evaluator: Evaluator;
  /** Returns the evaluations so far, for the receipt. */
  readonly evaluated: () => Evaluated;
}
