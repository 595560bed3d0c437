/** The link of the banner that signs in to the console once. The gateway gets hashes only. */
import { randomBytes } from "node:crypto";
import { hashKey } from "@sluice/proto/lib/ids/key.js";

/** From the start of the supervisor on; the first start may create a database. */
const lifeMs = 15 * 60_000;

export interface StartLink {
  /** Part of the address after `#`, which browsers never send. */
  readonly token: string;
  /** Value of SLUICE_CONSOLE_LINK, for the gateway. */
  readonly variable: string;
}

export function makeStartLink(managementKey: string): StartLink {
  const token = randomBytes(32).toString("base64url");
  return { token, variable: `${hashKey(token)}.${hashKey(managementKey)}.${Date.now() + lifeMs}` };
}
