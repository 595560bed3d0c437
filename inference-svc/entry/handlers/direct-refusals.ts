/** Records turns refused before the engine, for callers without a gateway. */
import type { HandlerContext } from "@connectrpc/connect";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import { requestIdIn } from "@sluice/proto/lib/rpc/caller.js";
import type { LedgerTurns } from "../../engine/ledger-turns.ts";

export interface DirectRefusals {
  readonly turns: Pick<LedgerTurns, "refused">;
}

export interface RequestedTurn {
  readonly keyHash: string;
  readonly request: RunTurnRequest;
  readonly context: HandlerContext;
}

/** @param error the refusal as a Fault, or an unexpected error */
export function recordRefusal(
  { turns }: DirectRefusals,
  { keyHash, request, context }: RequestedTurn,
  error: unknown,
): void {
  const requestId = requestIdIn(context.requestHeader) ?? newId("req_");
  turns.refused(request, { keyHash, requestId, generationId: newId("gen-") }, Fault.from(error));
}
