/** The agent loop as a feature of the stack. */
import type { CallingFeatureOf } from "../../turn/feature.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { type LoopDeps, serverTools } from "../../agent-loop/loop/loop.ts";
import { type OfferedTools, recordUnsentTools, toolsNotRunStage } from "../../agent-loop/loop/stage.ts";
import { applies } from "../applies.ts";

/** The tools of a request in a dry run: as they would be sent to the model, without running any. */
export interface OpenedTools {
  readonly request: TurnRequest;
  readonly offers: OfferedTools;
}

interface DryNeeds {
  /**
   * Opens the tools of a request. @returns undefined when Sluice runs none of them @throws Fault INVALID_REQUEST for
   * settings a tool cannot honor
   */
  readonly openTools: (request: TurnRequest, scope: Scope) => OpenedTools | undefined;
}

interface Needs {
  readonly loop: LoopDeps;
}

export const agentLoop: CallingFeatureOf<Needs & DryNeeds, DryNeeds> = {
  id: "server-tools",
  applies: applies.agentLoop,
  layer: ({ loop }) => serverTools(loop),
  dryRun:
    ({ openTools }) =>
    (next) =>
    (request, scope) => {
      const opened = openTools(request, scope);
      if (opened === undefined) return next(request, scope);
      if (opened.offers.size > 0) {
        recordUnsentTools(opened.offers, scope);
        scope.trace.stages.push(toolsNotRunStage(opened.offers));
      }
      return next(opened.request, scope);
    },
};
