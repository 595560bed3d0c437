/** Opens turns for calls without a gateway; such a call pulls the events of its turn. */
import {
  RunTurnRequestSchema,
  type RunTurnRequest,
  type TurnEvent,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { HandlerContext } from "@connectrpc/connect";
import { checkScalars } from "./scalars.ts";
import { readIdempotencyKey } from "@sluice/proto/lib/idempotency/in-flight.js";
import { callerKeyHash, generationIdHeader } from "@sluice/proto/lib/rpc/caller.js";
import { unknownFieldIn } from "@sluice/proto/lib/rpc/supported-fields.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { overloadedFault } from "../../engine/admission.ts";
import { type AdmittedTurn, type DirectTurn, type DirectTurnDeps, admitTurn } from "./direct-call.ts";
import { recordRefusal } from "./direct-refusals.ts";
import { PulledTurn } from "./pulled-turn.ts";
import { type SharedTurnDeps, admitSharedTurn } from "./shared-turn.ts";
import { timeLimitMs } from "./time-limit.ts";

export interface RunningTurn {
  readonly turn: DirectTurn;
  /** The events of each batch; can be iterated once. @throws Fault of the turn, or the abort reason of the caller */
  readonly batches: AsyncIterable<readonly TurnEvent[]>;
}

/** Opens a turn, which runs while its batches are read. @throws Fault of a refused call */
export async function openTurnWithoutGateway(
  deps: SharedTurnDeps,
  request: RunTurnRequest,
  context: HandlerContext,
): Promise<RunningTurn> {
  // Refuses only clients without a gateway; gateways count their waiting turns, and refuse before sending.
  if (deps.pressure.refuses()) throw overloadedFault();
  const keyHash = callerKeyHash(context.requestHeader, deps.token);
  const idempotencyKey = readIdempotencyKey(context.requestHeader.get("idempotency-key"));
  const call = { keyHash, request, context };
  try {
    checkRequest(request);
    const limitMs = Math.min(context.timeoutMs() ?? Number.POSITIVE_INFINITY, timeLimitMs(deps.config, request));
    const admitted = await (idempotencyKey === undefined
      ? admitTurn(deps, call, limitMs)
      : admitSharedTurn(deps, call, idempotencyKey));
    context.responseHeader.set(generationIdHeader, admitted.turn.generationId);
    return { turn: admitted.turn, batches: readTurn(deps, admitted, context) };
  } catch (error) {
    recordRefusal(deps, call, error);
    throw error;
  }
}

/** Checks the request of a caller without a gateway. @throws Fault INVALID_REQUEST */
function checkRequest(request: RunTurnRequest): void {
  const problems = new Problems();
  checkScalars(request, problems);
  const strange = unknownFieldIn(RunTurnRequestSchema, request);
  if (strange !== undefined) problems.add(strange, "a field that this build does not know");
  problems.throwIfAny();
}

async function* readTurn(
  { beforeSending }: DirectTurnDeps,
  { open, leave }: AdmittedTurn,
  { signal }: HandlerContext,
): AsyncGenerator<readonly TurnEvent[], void, undefined> {
  const reader = new PulledTurn();
  // The RPC adapter may wait forever for room on a closed socket and never pull the next batch: then only this ends the
  // turn.
  const abandon = () => {
    reader.end(signal.reason);
    reader.cancel();
    leave(true);
  };
  try {
    reader.start(open);
    // The deadline may have passed already, and an aborted signal calls no new listeners.
    if (signal.aborted) abandon();
    else signal.addEventListener("abort", abandon);
    yield* reader;
  } finally {
    signal.removeEventListener("abort", abandon);
    reader.cancel();
    beforeSending();
    leave(false);
  }
}
