/** Rejects requests of registered but inactive end users, if the configuration file sets `end_users: {enforce: true}`. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";

export interface EndUserDeps {
  readonly access: Pick<Access, "inactiveEndUsers">;
  /** The current `end_users.enforce` of the configuration file: end users are checked only while it is true. */
  readonly enforcesEndUsers: () => boolean;
}

/**
 * Checks the end user of the request and of the key.
 * @returns a promise only when the workspace's list of end users is needed
 * @throws Fault PERMISSION_DENIED, UNAVAILABLE
 */
export function checkEndUser(
  { access }: Pick<EndUserDeps, "access">,
  { workspaceId, externalUserInactive }: Caller,
  user: string | undefined,
  policyGeneration: bigint,
): Promise<void> | undefined {
  if (externalUserInactive) throw inactive("The end user that this API key is for is not active");
  if (user === undefined) return undefined;
  return access.inactiveEndUsers(workspaceId, policyGeneration).then((users) => {
    if (users.has(user)) throw inactive("user: this end user is not active; an administrator can activate it");
  });
}

const inactive = (message: string): Fault =>
  new Fault(FaultReason.PERMISSION_DENIED, message, { origin: FaultOrigin.CLIENT });
