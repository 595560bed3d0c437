/** Function calls for the client on behalf of suspended server tools. */
import type { OutputItem, TurnEvent } from "../../turn/turn.ts";
import type { ToolItemForm, ToolResult } from "../tool.ts";
import type { ItemNumbers } from "./model-answer.ts";

/** Events of the calls for the client. Each call comes whole and after all other items, and carries the tool's state only in its end event. */
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

/** Status of a call's item, by the call's result. */
export function callStatus({ failed, waitsFor }: ToolResult, { failedStatus }: ToolItemForm): string {
  if (waitsFor) return "in_progress";
  return failed ? failedStatus : "completed";
}
