/** Whether Sluice may keep the prompt and the answer of a request. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import type { ScannedBody } from "./body.ts";
import type { CapturedRequest } from "./captured-turn.ts";

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

/** Permits inference-svc to put the content of the turn into its trace, for a key that asks for it. */
export function permitTracedContent(
  { tracesContent }: Caller,
  request: CapturedRequest,
  { body, members }: ScannedBody,
): void {
  if (tracesContent && request.mayKeepContent === false && !forbidsStorage(request, body, members))
    request.mayKeepContent = true;
}
