/** A session in the form shown to console pages. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Session } from "@sluice/proto/gen/sluice/admin/v1/session_service_pb.js";
import { roleOf } from "./roles.ts";

export interface SessionLinks {
  /** URL template of a trace, with {trace_id} as the id. */
  readonly traceUrl: string | undefined;
  /** The proxy's sign-out page. */
  readonly signOutUrl: string | undefined;
}

export const toSessionJson = (session: Session, { traceUrl, signOutUrl }: SessionLinks): object => ({
  data: {
    key: { hash: session.keyHash, name: session.keyName, label: session.keyLabel },
    workspace: { id: session.workspaceId, name: session.workspaceName },
    account: session.account,
    person: session.person === "" ? null : session.person,
    role: roleOf(session),
    opened_at: session.openedAt && timestampDate(session.openedAt).toISOString(),
    expires_at: session.expiresAt && timestampDate(session.expiresAt).toISOString(),
    trace_url: traceUrl ?? null,
    // A proxy identifies people with each request, so their sessions do not expire.
    sign_out_url: session.expiresAt ? null : (signOutUrl ?? null),
  },
});
