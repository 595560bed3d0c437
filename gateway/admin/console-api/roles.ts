/** Limits people in the console to their roles. */
import { type Role, isRole, permits } from "@sluice/proto/lib/policy/role.js";
import type { Session } from "@sluice/proto/gen/sluice/admin/v1/session_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { CallOrigin } from "@sluice/proto/lib/rpc/dial.js";
import type { Sessions } from "./sessions.ts";

/** Sessions of an admin-svc without roles are all administrators'. A role unknown to this build counts as the lowest. */
export function roleOf({ role }: Pick<Session, "role">): Role {
  if (role === "") return "admin";
  return isRole(role) ? role : "viewer";
}

/** The key and the person of a session, in calls to the services. */
export const sessionMetadata = (
  { keyHash, person }: Session,
  { requestId, address, trace }: CallOrigin,
): CallOrigin & { readonly keyHash: string } => ({
  keyHash,
  person: person === "" ? undefined : person,
  address,
  trace,
  ...(requestId !== undefined && { requestId }),
});

/**
 * Records the refusal in the audit log before answering.
 * @param call method and path for the audit log
 * @throws Fault PERMISSION_DENIED with the role
 */
export async function requireRole(
  sessions: Pick<Sessions, "recordRefusal">,
  session: Session,
  neededRole: Role,
  call: string,
  caller: CallOrigin,
): Promise<void> {
  const role = roleOf(session);
  if (permits(role, neededRole)) return;
  await sessions.recordRefusal({ call, role, neededRole }, sessionMetadata(session, caller));
  throw new Fault(FaultReason.PERMISSION_DENIED, `${call} needs the role ${neededRole}; yours is ${role}`, {
    origin: FaultOrigin.CLIENT,
  });
}
