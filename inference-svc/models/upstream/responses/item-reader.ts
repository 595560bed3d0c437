/** The interface for readers of output items; each kind of item has a reader. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Target } from "../dialect.ts";
import type { ItemStatus } from "../events/item-writer.ts";
import type { Output } from "../events/output.ts";
import type { JsonObject } from "../json.ts";
import type { ToolNames } from "./tool-names.ts";

/** Reads the events of one item. */
export interface ItemReader {
  /** @returns false for an event that does not concern the item's text */
  event(type: string, event: JsonObject): boolean;
  /**
   * Adds the parts of the final item that no delta has delivered. If it contradicts the deltas, they count, because
   * clients have acted on them.
   * @throws Fault for text after the end of a part
   */
  complete(item: JsonObject): void;
  end(item: JsonObject, status: ItemStatus): void;
}

export interface ReadContext {
  readonly output: Output;
  readonly include: TurnRequest["include"];
  readonly tools: TurnRequest["tools"];
  /** Whether log probabilities are passed on. */
  readonly logprobs: boolean;
  readonly target: Target;
  readonly names: ToolNames;
}
