/** Whether a request forbids Sluice to store its prompt and answer. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";

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
