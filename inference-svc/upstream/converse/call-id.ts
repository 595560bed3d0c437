/** Ids of calls: 1 to 64 letters, digits, _ and - (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html). */
import { createHash } from "node:crypto";
import { callIdOf } from "../messages/call-id.ts";

const longest = 64;

/** The same id stays the same; two that differ only in what cannot be sent stay different. */
export function toolUseIdOf(callId: unknown): string {
  const id = callIdOf(callId);
  if (id.length <= longest) return id;
  return createHash("sha256").update(id).digest("hex");
}
