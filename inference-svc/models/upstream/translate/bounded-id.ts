/** Shortens call ids for providers that limit their length. */
import { createHash } from "node:crypto";
import { text } from "../json.ts";

/** The id, or a hash of it if it is too long. The hash is equal in every turn, and different for each id. */
export function boundedId(callId: unknown, max: number): unknown {
  const id = text(callId);
  return id.length <= max ? callId : createHash("sha256").update(id).digest("hex").slice(0, max);
}
