/** Builds the receipt's stage for server tools, and lists their unsupported settings. */
import type { Scope } from "../../turn/scope.ts";
import type { Stage } from "../../turn/trace.ts";
import type { OpenTool, ServerTool } from "../tool.ts";

/** The tools offered to the model, by function name. */
export type OfferedTools = ReadonlyMap<
  string,
  { readonly tool: Pick<ServerTool, "kinds">; readonly open: Pick<OpenTool, "notSent"> }
>;

const kindsOf = (offers: OfferedTools): readonly string[] => [
  ...new Set([...offers.values()].map(({ tool }) => tool.kinds[0])),
];

/**
 * @param steps number of tool calls
 * @param reason why the loop stopped
 * @param rejectedCalls number of wrong calls of client tools, which the model had to repeat
 */
export const buildToolsStage = (offers: OfferedTools, steps: number, reason: string, rejectedCalls: number): Stage => ({
  type: "server_tools",
  name: "server-tools",
  summary: `${steps} ${steps === 1 ? "call" : "calls"}: ${reason.replaceAll("_", " ")}`,
  data: {
    mode: "sdk",
    tools: kindsOf(offers),
    steps,
    stop_reason: reason,
    ...(rejectedCalls > 0 && { rejected_calls: rejectedCalls }),
  },
});

export function recordUnsentTools(offers: OfferedTools, { trace }: Scope): void {
  for (const { open } of offers.values()) trace.noteKeptBack(open.notSent ?? []);
}

export const toolsNotRunStage = (offers: OfferedTools): Stage => ({
  type: "server_tools",
  name: "server-tools",
  summary: "Not run: a dry run calls no tool",
  data: { mode: "sdk", tools: kindsOf(offers), steps: 0, stop_reason: "not_run" },
});
