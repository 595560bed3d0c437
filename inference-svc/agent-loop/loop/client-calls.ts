/** Function calls for the client on behalf of suspended server tools. */
import type { OutputItem, TurnEvent } from "../../turn/turn.ts";
import type { ToolItemForm, ToolResult } from "../tool.ts";
import type { ItemNumbers } from "./model-answer.ts";

/** The calls for the client: whole, after all other items, and with the tool's state only at the end. */
export const clientCallEvents = (calls: readonly OutputItem[], numbers: ItemNumbers, stream: boolean): TurnEvent[] =>
  calls.flatMap((call): TurnEvent[] => {
    const index = numbers.take();
    const { subagent_items: _, ...known } = call;
    const start: TurnEvent[] = [
      { type: "item.start", index, item: { ...known, arguments: "", status: "in_progress" } },
      { type: "arguments.delta", index, delta: String(call["arguments"]) },
    ];
    return [...(stream ? start : []), { type: "item.end", index, item: call }];
  });

/** Item status of a call with this result. */
export function callStatus({ failed, waitsFor }: ToolResult, { failedStatus }: ToolItemForm): string {
  if (waitsFor) return "in_progress";
  return failed ? failedStatus : "completed";
}
