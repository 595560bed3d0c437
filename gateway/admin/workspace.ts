/** Reads the workspace that a request of an administrator names. */
import { uuidForm } from "@sluice/proto/lib/ids/uuid.js";
import { KeyKind } from "@sluice/proto/lib/ids/key.js";
import { workspaceHeader } from "@sluice/proto/lib/rpc/caller.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { EdgeContext } from "../edge/http/context.ts";

/**
 * The id of the workspace named by a request; undefined if the request names none or has no management key, which means the key's workspace.
 * Admin-svc checks whether the key may act there.  @throws Fault INVALID_REQUEST for a malformed id
 */
export function readWorkspace({ req: { headers }, caller }: EdgeContext): string | undefined {
  const named = headers[workspaceHeader];
  if (named === undefined || caller.kind !== KeyKind.MANAGEMENT) return undefined;
  if (typeof named !== "string" || !uuidForm.test(named))
    throw invalid(workspaceHeader, "must be the id of a workspace");
  return named;
}
