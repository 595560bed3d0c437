/** A turn with the plugin, shared by both modes. */
import type { CallContext } from "../../models/internal-calls/internal-call.ts";
import type { Evaluator } from "./evaluator.ts";
import type { Evaluated } from "./report.ts";
import type { Alignment } from "./settings.ts";

/** The request sent to the model. */
export interface AlignedTurn extends CallContext {
  readonly settings: Alignment;
  readonly evaluator: Evaluator;
  /** Current evaluation data for the receipt. */
  readonly evaluated: () => Evaluated;
}
