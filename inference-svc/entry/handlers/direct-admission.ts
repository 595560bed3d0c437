/** Rate limits for requests without a gateway; gateways count their own requests. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { KeyKind } from "@sluice/proto/lib/ids/key.js";
import { type LimitedUse, readOnlyUse } from "@sluice/proto/lib/limits/decision.js";
import { Admission, type Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { invalidKey } from "@sluice/proto/lib/rpc/caller.js";

export interface DirectAdmission {
  /** The resolved key with its policy. */
  readonly caller: Caller;
  readonly admission: Admission;
}

/**
 * Admits a call. @param responseHeader receives the rate limit headers
 * @throws Fault UNAUTHENTICATED, RATE_LIMITED, UNAVAILABLE
 */
export async function admitDirectly(
  { access, limiter }: { readonly access: Access; readonly limiter: Limiter },
  keyHash: string,
  responseHeader: Headers,
  ask?: LimitedUse,
): Promise<DirectAdmission> {
  const { caller } = await access.resolve(keyHash);
  if (!caller) throw invalidKey();
  // Management keys have no rate limits: they may read lists, and are refused later for turns.
  if (ask === readOnlyUse && caller.kind === KeyKind.MANAGEMENT) {
    return { caller, admission: new Admission(undefined, undefined, false) };
  }
  const admission = await limiter.enter(caller, ask);
  for (const [name, value] of Object.entries(admission.headers ?? {})) responseHeader.set(name, value);
  if (admission.refusal) throw admission.refusal;
  return { caller, admission };
}
