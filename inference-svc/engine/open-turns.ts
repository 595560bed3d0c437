/** The open turns of this process, for administrators to list and to end. */
import type { OpenTurn as WireTurn } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { SlotArray } from "@sluice/proto/lib/load/slot-array.js";
import type { AnswerDelivery } from "./deliver.ts";
import type { Scope } from "../turn/scope.ts";
import type { Cancellable } from "../turn/signal.ts";

/** An admitted, unfinished turn. */
export class OpenTurn {
  readonly scope: Scope;
  readonly requestedModel: string;
  readonly turn: Cancellable;
  /** The delivery of the turn's answer; undefined until the layers of the turn are built. */
  delivery: AnswerDelivery | undefined = undefined;

  constructor(scope: Scope, requestedModel: string, turn: Cancellable) {
    this.scope = scope;
    this.requestedModel = requestedModel;
    this.turn = turn;
  }
}

export class OpenTurns extends SlotArray<OpenTurn> {
  /** @returns the turns of a workspace that have been open longest, and the number of all its open turns */
  list(workspaceId: string, limit: number): { readonly turns: WireTurn[]; readonly total: number } {
    const own = this.#in(workspaceId).sort((a, b) => a.scope.trace.startedAt - b.scope.trace.startedAt);
    const now = performance.now();
    return { turns: own.slice(0, limit).map((turn) => toWireTurn(turn, now)), total: own.length };
  }

  /** Ends a turn; its client gets a failure with the reason. @returns whether the turn exists */
  end(workspaceId: string, generationId: string): boolean {
    const found = this.#in(workspaceId).find(({ scope }) => scope.generationId === generationId);
    found?.turn.cancel(endedByAdministrator());
    return found !== undefined;
  }

  #in(workspaceId: string): OpenTurn[] {
    return this.values().filter(({ scope }) => scope.caller.workspaceId === workspaceId);
  }
}

const endedByAdministrator = (): Fault =>
  new Fault(FaultReason.PERMISSION_DENIED, "An administrator ended this request", { origin: FaultOrigin.INFERENCE });

function toWireTurn({ scope, requestedModel, delivery }: OpenTurn, now: number): WireTurn {
  const { generationId, caller, door, user, trace } = scope;
  const { startedAt, firstMs, attempts, candidates, selected } = trace;
  const chosen = selected === undefined ? undefined : candidates[selected];
  return {
    $typeName: "sluice.inference.v1.OpenTurn",
    generationId,
    keyHash: caller.keyHash,
    door: door ?? "responses",
    requestedModel,
    model: chosen?.model ?? "",
    provider: chosen?.provider ?? "",
    user: user ?? "",
    openMs: Math.round(now - startedAt),
    ...(firstMs !== undefined && { firstMs: Math.round(firstMs) }),
    textUnits: delivery?.textUnits ?? 0,
    attempts: attempts.length,
  };
}
