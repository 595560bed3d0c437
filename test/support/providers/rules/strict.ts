/**
 * Lets a scripted provider refuse what the vendor of its format refuses. Without it a request that no vendor takes would pass every test of a door.
 */
import { findConverseViolations } from "./converse.ts";
import { findMessagesViolations } from "./messages.ts";
import type { BodyPart } from "./violations.ts";

/** A refusal in the form of the vendor. */
export interface Refusal {
  readonly status: 400;
  readonly headers: Readonly<Record<string, string>>;
  readonly json: object;
}

/** @param path of the request @returns undefined for a request that the vendor takes, and for formats without rules */
export function refusalOf(path: string, body: string): Refusal | undefined {
  const [pathname] = path.split("?");
  const isMessages = pathname?.endsWith("/messages") === true;
  const isConverse = /\/converse(-stream)?$/.test(pathname ?? "");
  if (!isMessages && !isConverse) return undefined;
  const parsed = JSON.parse(body) as BodyPart;
  const violations = isMessages ? findMessagesViolations(parsed) : findConverseViolations(parsed);
  if (violations.length === 0) return undefined;
  const message = violations.join("; ");
  return isMessages
    ? {
        status: 400,
        headers: {},
        json: { type: "error", error: { type: "invalid_request_error", message }, request_id: "req_strict" },
      }
    : { status: 400, headers: { "x-amzn-errortype": "ValidationException" }, json: { message } };
}
