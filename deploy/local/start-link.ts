/** The banner's link, valid for one sign-in to the console. The gateway gets only hashes of the token and the key. */
import { randomBytes } from "node:crypto";
import { hashKey } from "@sluice/proto/lib/ids/key.js";

/** Lifetime in milliseconds, from the start of the supervisor: long enough for a first start, which creates a database. */
const lifeMs = 15 * 60_000;

export interface StartLink {
  /** Secret part of the link, after `#`: browsers never send this part to a server. */
  readonly token: string;
  /** Value of SLUICE_CONSOLE_LINK for the gateway. */
  readonly variable: string;
}

export function makeStartLink(managementKey: string): StartLink {
  const token = randomBytes(32).toString("base64url");
  return { token, variable: `${hashKey(token)}.${hashKey(managementKey)}.${Date.now() + lifeMs}` };
}
