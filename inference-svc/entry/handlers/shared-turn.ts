/** Admits calls with an idempotency key: equal concurrent calls share one turn, as HTTP requests at a gateway do. */
import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { Generation } from "@sluice/proto/lib/idempotency/generation.js";
import type { InFlight } from "@sluice/proto/lib/idempotency/in-flight.js";
import { sharedTurnUse } from "@sluice/proto/lib/limits/decision.js";
import { admitDirectly } from "./direct-admission.ts";
import { type AdmittedTurn, type DirectCall, type DirectTurn, type DirectTurnDeps, admitTurn } from "./direct-call.ts";
import { timeLimitMs } from "./time-limit.ts";

export interface SharedTurnDeps extends DirectTurnDeps {
  readonly inFlight: InFlight<DirectTurn>;
}

const tooSlow = (): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "Other callers with this idempotency-key read much faster", {
    origin: FaultOrigin.CLIENT,
    shouldRetry: false,
  });

/** Joins the running turn with this idempotency key, or prepares a new one. @throws Fault */
export async function admitSharedTurn(
  deps: SharedTurnDeps,
  call: DirectCall,
  idempotencyKey: string,
): Promise<AdmittedTurn> {
  const running = deps.inFlight.find(call.keyHash, idempotencyKey);
  const generation = running ?? deps.inFlight.begin(call.keyHash, idempotencyKey);
  const member = generation.join();
  try {
    const turn = running ? await join(deps, running, call) : await lead(deps, generation, call);
    const open: AdmittedTurn["open"] = (listener) => member.follow(listener, () => listener.failed(tooSlow(), true));
    return { turn, open, leave: member.leave };
  } catch (error) {
    member.leave();
    throw error;
  }
}

/** Lets a call join a running turn. It counts towards the rate limit, but opens no turn. */
async function join(deps: SharedTurnDeps, generation: Generation<DirectTurn>, call: DirectCall): Promise<DirectTurn> {
  const { caller } = await admitDirectly(deps, call.keyHash, call.context.responseHeader, sharedTurnUse);
  return generation.prepared(fingerprintOf(call), caller);
}

async function lead(deps: SharedTurnDeps, generation: Generation<DirectTurn>, call: DirectCall): Promise<DirectTurn> {
  let admitted: AdmittedTurn | undefined;
  try {
    // Each call ends at its own deadline; the turn goes on for the others.
    admitted = await admitTurn(deps, call, timeLimitMs(deps.config, call.request));
    generation.read(fingerprintOf(call));
    generation.opened(admitted.turn, admitted.open, { settled: admitted.leave });
    return admitted.turn;
  } catch (error) {
    admitted?.leave(false);
    generation.refused(Fault.from(error));
    throw error;
  }
}

/** A hash of everything in a call that affects the answer. */
const fingerprintOf = ({ request, context }: DirectCall): string =>
  createHash("sha256")
    .update(`${context.method.name}:`)
    .update(toBinary(RunTurnRequestSchema, request))
    .digest("base64");
