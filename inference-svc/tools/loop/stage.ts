/** The receipt's words about the tools that Sluice runs: their stage, and settings that they cannot keep. */
import type { Scope } from "../../turn/scope.ts";
import type { Stage } from "../../turn/trace.ts";
import type { OpenTool, ServerTool } from "../tool.ts";

/** The tools that the model was offered, by the name under which it calls them. */
export type OfferedTools = ReadonlyMap<
  string,
  { readonly tool: Pick<ServerTool, "kinds">; readonly open: Pick<OpenTool, "notSent"> }
>;

const kindsOf = (offers: OfferedTools): readonly string[] => [
  ...new Set([...offers.values()].map(({ tool }) => tool.kinds[0])),
];

/**
 * @param steps calls that the model made
 * @param reason why there were no more
 * @param rejectedCalls calls of client tools that the model had to make again
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

export function noteNotSent(offers: OfferedTools, { trace }: Scope): void {
  for (const { open } of offers.values()) trace.noteKeptBack(open.notSent ?? []);
}

export const notRun = (offers: OfferedTools): Stage => ({
  type: "server_tools",
  name: "server-tools",
  summary: "Not run: a dry run calls no tool",
  data: { mode: "sdk", tools: kindsOf(offers), steps: 0, stop_reason: "not_run" },
});
