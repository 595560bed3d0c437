/** Admits a turn for a resolved key, or refuses it. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { ResolvedPolicy } from "@sluice/proto/lib/policy/access.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { Hindrance } from "@sluice/proto/lib/process/hindrances.js";
import { newUuid } from "@sluice/proto/lib/ids/id.js";
import { KeyKind } from "@sluice/proto/lib/ids/key.js";
import type { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { openModelLimits } from "../turn/model-limits.ts";
import { type PermissionDefault, permissionsOf } from "../turn/permissions.ts";
import type { Account } from "@sluice/proto/lib/load/held-bytes.js";
import { drawRetryDelayMs } from "@sluice/proto/lib/load/pressure.js";
import { invalidKey } from "@sluice/proto/lib/rpc/caller.js";
import type { Span } from "@sluice/proto/lib/tracing/span.js";
import { admittedTags } from "@sluice/proto/lib/turns/tags.js";
import { doorWord } from "@sluice/proto/lib/turns/turn-facts.js";
import { Scope } from "../turn/scope.ts";
import { tagBudgetsOf } from "../turn/tag-budgets.ts";
import { TurnState } from "../turn/turn-state.ts";
import { StageEvents, Trace } from "../turn/trace.ts";
import type { Requester } from "../turn/requester.ts";
import type { TurnSignal } from "../turn/signal.ts";

/** The door recorded for calls without a gateway, whatever format their requests name. */
export const directDoor = "grpc";

interface AdmissionRules {
  /** Default of permissions, for everything that no permission list of the key covers. */
  readonly permissionDefault: () => PermissionDefault;
  /** Counts requests per model for limits; undefined in a dry run, which calls no model. */
  readonly modelLimiter?: Pick<Limiter, "enterModels">;
}

/** Admits a turn. @throws Fault UNAUTHENTICATED, PERMISSION_DENIED, INVALID_REQUEST */
export function admit(
  { caller, generation }: ResolvedPolicy,
  { requestId, generationId, deadline, scanned }: Requester,
  request: RunTurnRequest,
  signal: TurnSignal,
  held: Account,
  { permissionDefault, modelLimiter }: AdmissionRules,
  span?: Span,
): Scope {
  if (!caller) throw invalidKey();
  if (caller.kind !== KeyKind.INFERENCE) {
    throw new Fault(FaultReason.PERMISSION_DENIED, "Management keys cannot create responses", {
      origin: FaultOrigin.CLIENT,
    });
  }
  const { user, door } = request;
  const permissions = permissionsOf(caller, permissionDefault());
  permissions?.require("doors", scanned ? doorWord(door) : directDoor);
  const tags = admittedTags(request, caller);
  return new Scope({
    signal,
    held,
    caller,
    permissions,
    modelLimits: modelLimiter && openModelLimits(caller, modelLimiter),
    requestId,
    turnId: newUuid(),
    generationId,
    deadline,
    user,
    tags,
    tagBudgets: tagBudgetsOf(caller, tags),
    door: door === "" ? undefined : doorWord(door),
    trace: new Trace(generation, span && new StageEvents(span)),
    state: new TurnState(),
    span,
  });
}

/** The refusal of a turn by an overloaded process. */
export const overloadedFault = (): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "", { origin: FaultOrigin.INFERENCE, retryAfterMs: drawRetryDelayMs() });

const retryMs = 1_000;

/** The refusal of a turn while a hindrance, such as a full disk, prevents all work of the process. */
export const hindranceFault = ({ cause, reason }: Hindrance): Fault =>
  new Fault(FaultReason.UNAVAILABLE, cause === "spool" ? "Usage cannot be recorded at the moment" : "", {
    origin: FaultOrigin.INFERENCE,
    retryAfterMs: retryMs,
    cause: new Error(`${cause}: ${reason}`),
  });
