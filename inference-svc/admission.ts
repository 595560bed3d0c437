/** Who may have turns run, and for whom one is. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Resolved } from "@sluice/proto/runtime/access.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { newUuid } from "@sluice/proto/runtime/id.js";
import { KeyKind } from "@sluice/proto/runtime/key.js";
import { refusedMs } from "@sluice/proto/runtime/pressure.js";
import { invalidKey } from "@sluice/proto/runtime/rpc/caller.js";
import type { TraceHeaders } from "@sluice/proto/runtime/tracing/context.js";
import type { Span } from "@sluice/proto/runtime/tracing/span.js";
import { type Scope, Trace } from "./turn/scope.ts";
import type { TurnSignal } from "./turn/signal.ts";
import { StageEvents } from "./turn/stage-events.ts";

/** For whom a turn is run. */
export interface Requester {
  readonly keyHash: string;
  readonly requestId: string;
  /** As in X-Generation-Id. */
  readonly generationId: string;
  /** What it is part of, as it came with the request. */
  readonly trace: TraceHeaders;
  /** For the log; absent where nobody traces. */
  readonly traceId?: string;
  /** The highest policy generation that the requester has seen. */
  readonly policyGeneration: bigint;
  /** Whether the JSON texts of its requests were scanned before they came here. */
  readonly scanned: boolean;
  /** performance.now() at which the turn is cut short; Infinity when it is not. */
  readonly deadline: number;
}

/** @throws Fault UNAUTHENTICATED, PERMISSION_DENIED */
export function admit(
  { caller, generation }: Resolved,
  { requestId, generationId, deadline }: Requester,
  { user }: RunTurnRequest,
  signal: TurnSignal,
  span?: Span,
): Scope {
  if (!caller) throw invalidKey();
  if (caller.kind !== KeyKind.INFERENCE) {
    throw new Fault(FaultReason.PERMISSION_DENIED, "Management keys cannot create responses", {
      origin: FaultOrigin.CLIENT,
    });
  }
  return {
    signal,
    caller,
    requestId,
    turnId: newUuid(),
    generationId,
    deadline,
    ...(user !== undefined && { user }),
    trace: new Trace(generation, span && new StageEvents(span)),
    ...(span && { span }),
  };
}

/** The answer to a turn that is one too many. */
export const overloaded = (): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "", { origin: FaultOrigin.INFERENCE, retryAfterMs: refusedMs() });
