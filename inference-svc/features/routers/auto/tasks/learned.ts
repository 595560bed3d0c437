/** Training data for the auto routers: the tasks of requests that name a model. */
import type { TurnRequest } from "../../../../turn/request.ts";
import type { Scope } from "../../../../turn/scope.ts";
import { StateKey } from "../../../../turn/turn-state.ts";
import { guessTaskLocally } from "./local.ts";
import type { Task } from "./tasks.ts";

/** The guessed task of a turn, computed once although a turn may call providers several times. */
const guessed = new StateKey<{ task: Task | undefined }>(() => ({ task: undefined }));

/**
 * Finds the task of a sampled request. Requests with a model chosen by a router are left out: the ranking would learn
 * from itself.
 * @param share of the requests, from 0 to 1
 * @returns undefined when the share is 0
 */
export function learnedTasks(share: number): ((request: TurnRequest, scope: Scope) => Task | undefined) | undefined {
  if (share === 0) return undefined;
  return (request, scope) => {
    if (scope.operation !== "turn" || scope.payer !== "key") return undefined;
    if (scope.trace.strategy !== undefined || fractionOf(scope.turnId) >= share) return undefined;
    const found = scope.state.get(guessed);
    return (found.task ??= guessTaskLocally(request).task);
  };
}

/** A number in [0, 1) from the last, random digits of the turn's UUID. */
const fractionOf = (turnId: string): number => Number.parseInt(turnId.slice(-8), 16) / 2 ** 32;
