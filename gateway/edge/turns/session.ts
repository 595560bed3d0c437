/** Reads the session id of a request; turns of one session stay at one provider. */
import { isUtf8 } from "node:buffer";
import type { Problems } from "@sluice/proto/lib/validation/problems.js";
import { isLongerThan } from "@sluice/proto/lib/validation/text.js";

/**
 * @param own checked value of the body's field, which takes precedence; undefined if absent  @param header value of `x-session-id`, in which Node
 * gives one character per byte
 */
export function readSession(own: unknown, header: string | undefined, problems: Problems): string | undefined {
  if (typeof own === "string") return own;
  if (header === undefined || header === "" || own !== undefined) return undefined;
  const bytes = Buffer.from(header, "latin1");
  const decoded = bytes.length === header.length && isUtf8(bytes) ? bytes.toString("utf8") : undefined;
  if (decoded === undefined) problems.add("x-session-id", "must be valid UTF-8");
  else if (isLongerThan(decoded, 256)) problems.add("x-session-id", "at most 256 characters");
  else return decoded;
  return undefined;
}
