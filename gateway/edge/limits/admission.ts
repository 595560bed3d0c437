/** Admits or refuses a request by the rate limits of its key. The headers of every answer contain the remaining amounts. */
import type { ServerResponse } from "node:http";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind } from "@sluice/proto/lib/ids/key.js";
import { type LimitedUse, readOnlyUse } from "@sluice/proto/lib/limits/decision.js";
import type { Admission, Limiter } from "@sluice/proto/lib/limits/limiter.js";

/** The part of a response that takes rate limit headers. */
export type LimitHeaders = Pick<ServerResponse, "headersSent" | "setHeader">;

/**
 * Counts a turn towards the rate limits of its key. @returns a promise only if Redis counts the limits, not this process  @throws Fault
 * PERMISSION_DENIED, RATE_LIMITED
 */
export function admit(
  limiter: Limiter,
  caller: Caller,
  response: LimitHeaders,
  ask?: LimitedUse,
): Admission | Promise<Admission> {
  if (caller.kind === KeyKind.MANAGEMENT) {
    throw new Fault(FaultReason.PERMISSION_DENIED, "Management keys cannot create responses", {
      origin: FaultOrigin.CLIENT,
    });
  }
  const admission = limiter.enter(caller, ask);
  return admission instanceof Promise
    ? admission.then((known) => announced(known, response))
    : announced(admission, response);
}

/**
 * Counts a request without a turn, such as GET /models, towards the requests per minute of an inference key. Management keys have no limits.
 * @throws Fault RATE_LIMITED
 */
export async function countReadRequest(limiter: Limiter, caller: Caller, response: ServerResponse): Promise<void> {
  if (caller.kind === KeyKind.INFERENCE) announced(await limiter.enter(caller, readOnlyUse), response);
}

/** Writes the rate limit headers of an answer, and throws if the limits refuse the request. @throws Fault RATE_LIMITED */
function announced(admission: Admission, response: LimitHeaders): Admission {
  if (admission.headers && !response.headersSent) {
    for (const [name, value] of Object.entries(admission.headers)) response.setHeader(name, value);
  }
  if (admission.refusal) throw admission.refusal;
  return admission;
}
