/** Whether a request forbids Sluice to keep its prompt and its answer. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { JsonMember } from "@sluice/proto/runtime/validation/json-span.js";

/** Preferences about what providers keep hold for Sluice, too, as does `store: false`. @param members of the body */
export function forbidsStorage(
  { provider }: Pick<RunTurnRequest, "provider">,
  body: Buffer,
  members: readonly JsonMember[],
): boolean {
  if (provider?.zdr === true || provider?.dataCollection === "deny") return true;
  const store = members.find(({ key }) => key === "store");
  return store !== undefined && body.toString("latin1", store.start, store.end) === "false";
}
