/** Ids of calls: the provider takes letters, digits, _ and - only, and other providers have used more. */
import { createHash } from "node:crypto";
import { text } from "../json.ts";

const taken = /^[\w-]+$/;

/** The same id stays the same; two that differ only in what cannot be sent stay different. */
export function callIdOf(callId: unknown): string {
  const id = text(callId);
  if (taken.test(id)) return id;
  const hash = createHash("sha256").update(id).digest("hex").slice(0, 8);
  return `${id.replaceAll(/[^\w-]/g, "_")}_${hash}`;
}
