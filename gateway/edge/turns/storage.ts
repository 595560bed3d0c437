/** Whether Sluice may keep the prompt and the answer of a request. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { guardrailsForbidKeeping } from "@sluice/proto/lib/policy/kept-content.js";
import type { ScannedBody } from "./body.ts";

/** Data policies for providers apply to Sluice, too, and so does `store: false`. @param members of the body */
export function forbidsStorage(
  { provider }: Pick<RunTurnRequest, "provider">,
  body: Buffer,
  members: readonly JsonMember[],
): boolean {
  if (provider?.zdr === true || provider?.dataCollection === "deny") return true;
  const store = members.find(({ key }) => key === "store");
  return store !== undefined && body.toString("latin1", store.start, store.end) === "false";
}

/** A request for which content may be kept. */
export interface KeptCall {
  readonly caller: Caller;
  /** Whether it continues a request that forbade to store its content. */
  readonly isUnstored?: boolean;
}

/** Whether neither the request nor a guardrail forbids to keep the content of a call, for a key that asks to capture or trace it. */
export const mayKeepContent = (
  { caller, isUnstored = false }: KeptCall,
  request: Pick<RunTurnRequest, "provider">,
  { body, members }: ScannedBody,
): boolean => !isUnstored && !forbidsStorage(request, body, members) && !guardrailsForbidKeeping(caller);
