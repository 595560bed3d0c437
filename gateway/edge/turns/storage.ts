/** Decides whether Sluice may keep the prompt and the answer of a request. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { guardrailsForbidKeeping } from "@sluice/proto/lib/policy/kept-content.js";
import type { ScannedBody } from "./body.ts";

/**
 * Whether a request forbids storing its content: by `store: false`, or by a data policy for providers, which then holds for Sluice, too. @param
 * members top-level members of the body
 */
export function forbidsStorage(
  { provider }: Pick<RunTurnRequest, "provider">,
  body: Buffer,
  members: readonly JsonMember[],
): boolean {
  if (provider?.zdr === true || provider?.dataCollection === "deny") return true;
  const store = members.find(({ key }) => key === "store");
  return store !== undefined && body.toString("latin1", store.start, store.end) === "false";
}

/** A request whose content may have to be kept. */
export interface KeptCall {
  readonly caller: Caller;
  /** Whether the request continues one whose content must not be stored. */
  readonly isUnstored?: boolean;
}

/** Whether the content of a call may be kept: its key asks to capture or trace it, and neither the request nor a guardrail forbids it. */
export const mayKeepContent = (
  { caller, isUnstored = false }: KeptCall,
  request: Pick<RunTurnRequest, "provider">,
  { body, members }: ScannedBody,
): boolean => !isUnstored && !forbidsStorage(request, body, members) && !guardrailsForbidKeeping(caller);
