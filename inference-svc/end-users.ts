/** Refuses requests of end users that are registered and not active, where the configuration file says `end_users: {enforce: true}`. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";

export interface EndUserDeps {
  readonly access: Pick<Access, "inactiveEndUsers">;
  /** The configuration file's `end_users.enforce`, as it is now. */
  readonly enforcesEndUsers: () => boolean;
}

/**
 * Checks the end user of the request and the one that the key is for.
 * @returns a promise only when the list of the workspace's end users decides
 * @throws Fault PERMISSION_DENIED, UNAVAILABLE
 */
export function checkEndUser(
  { access, enforcesEndUsers }: EndUserDeps,
  { workspaceId, externalUserInactive }: Caller,
  user: string | undefined,
  policyGeneration: bigint,
): Promise<void> | undefined {
  if (!enforcesEndUsers()) return undefined;
  if (externalUserInactive) throw inactive("The end user that this API key is for is not active");
  if (user === undefined) return undefined;
  return access.inactiveEndUsers(workspaceId, policyGeneration).then((users) => {
    if (users.has(user)) throw inactive("user: this end user is not active; an administrator can activate it");
  });
}

const inactive = (message: string): Fault =>
  new Fault(FaultReason.PERMISSION_DENIED, message, { origin: FaultOrigin.CLIENT });
