/** Requires a management key, for administrators' calls to inference-svc. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind } from "@sluice/proto/lib/ids/key.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { callerKeyHash, invalidKey } from "@sluice/proto/lib/rpc/caller.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";

export interface AdministratorDeps {
  readonly access: Access;
  readonly token: ServiceToken;
}

/** Resolves the management key of a call. @throws Fault UNAUTHENTICATED, PERMISSION_DENIED for other keys, UNAVAILABLE */
export async function requireManager({ access, token }: AdministratorDeps, headers: Headers): Promise<Caller> {
  const { caller } = await access.resolve(callerKeyHash(headers, token));
  if (!caller) throw invalidKey();
  if (caller.kind !== KeyKind.MANAGEMENT) {
    throw new Fault(FaultReason.PERMISSION_DENIED, "Only management keys can perform this operation");
  }
  return caller;
}
