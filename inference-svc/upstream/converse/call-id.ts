/** Ids of calls: 1 to 64 letters, digits, _ and - (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html). */
import { createHash } from "node:crypto";
import { text } from "../json.ts";
import { callIdOf } from "../messages/call-id.ts";
import type { Family } from "./family.ts";

const longest = 64;
/** What models of Mistral take, though the format itself gives others. */
const nine = /^[A-Za-z0-9]{9}$/;

/** The same id stays the same; two that differ only in what cannot be sent stay different. */
export function toolUseIdOf(callId: unknown, family: Family): string {
  const id = callIdOf(callId);
  if (family === "mistral") return nine.test(id) ? id : hashOf(text(callId)).slice(0, 9);
  return id.length <= longest ? id : hashOf(id);
}

const hashOf = (id: string): string => createHash("sha256").update(id).digest("hex");
