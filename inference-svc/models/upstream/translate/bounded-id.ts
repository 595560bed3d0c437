/** Ids of calls for providers with a length limit. */
import { createHash } from "node:crypto";
import { text } from "../json.ts";

/** The id, or a hash if it is too long: the same in every turn, and different for each id. */
export function boundedId(callId: unknown, max: number): unknown {
  const id = text(callId);
  return id.length <= max ? callId : createHash("sha256").update(id).digest("hex").slice(0, max);
}
