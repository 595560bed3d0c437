/** The agent loop as a feature of the stack. */
import type { CallingFeatureOf } from "../../turn/feature.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { type LoopDeps, serverTools } from "../../agent-loop/loop/loop.ts";
import { type OfferedTools, recordUnsentTools, toolsNotRunStage } from "../../agent-loop/loop/stage.ts";
import { applies } from "../applies.ts";

/** The tools of a request for a dry run: as sent to the model, but nothing to run. */
export interface OpenedTools {
  readonly request: TurnRequest;
  readonly offers: OfferedTools;
}

interface DryNeeds {
  /** Undefined when Sluice runs no tool of the request. @throws Fault INVALID_REQUEST for settings a tool cannot honor */
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
