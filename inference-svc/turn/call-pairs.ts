/** Which items answer which: a call and what came of it belong together. */
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";

/** Outputs with the kind of call before them that they belong to. */
export const callOf: ReadonlyMap<string, string> = new Map([
  ["function_call_output", "function_call"],
  ["custom_tool_call_output", "custom_tool_call"],
  ["apply_patch_call_output", "apply_patch_call"],
  ["local_shell_call_output", "local_shell_call"],
  ["shell_call_output", "shell_call"],
  ["computer_call_output", "computer_call"],
  ["tool_search_output", "tool_search_call"],
  ["mcp_approval_response", "mcp_approval_request"],
]);

/** By which an output names its call. @param type of the output */
export const callFieldOf = (type: string): string =>
  type === "mcp_approval_response" ? "approval_request_id" : type === "local_shell_call_output" ? "id" : "call_id";

/** By which a call can be named. */
export const idsOfCall = ({ type, id, call_id: callId }: JsonObject): readonly unknown[] =>
  type === "mcp_approval_request" || type === "local_shell_call" ? [id, callId] : [callId];

/** What outputs take a call for, and by which ids: Codex says what a local shell printed in the output of a function. */
export const namesOfCall = (item: JsonObject): readonly (readonly [kind: string, id: unknown])[] => {
  const kind = item["type"] as string;
  const names = idsOfCall(item).map((id) => [kind, id] as const);
  return kind === "local_shell_call" ? [...names, ["function_call", item["call_id"]]] : names;
};
