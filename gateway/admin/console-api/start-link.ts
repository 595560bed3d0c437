/** The sign-in link that is printed at the start on one's own machine: valid once, for minutes, and from loopback addresses. */
import { timingSafeEqual } from "node:crypto";
import { hashKey } from "@sluice/proto/lib/ids/key.js";

/** The hash of the token, the hash of the management key for its session, and the end in milliseconds since 1970. */
const form = /^([0-9a-f]{64})\.([0-9a-f]{64})\.(\d{1,15})$/;

const loopback = /^(?:::ffff:)?127\.|^::1$/;

export class StartLink {
  readonly #tokenHash: Buffer;
  readonly #keyHash: string;
  readonly #until: number;
  readonly #now: () => number;
  #used = false;

  /** @param text value of SLUICE_CONSOLE_LINK; with a text of another form, nobody can sign in by a link @param now milliseconds since 1970 */
  constructor(text: string, now: () => number = Date.now) {
    const [, tokenHash = "", keyHash = "", until = "0"] = form.exec(text) ?? [];
    this.#tokenHash = Buffer.from(tokenHash);
    this.#keyHash = keyHash;
    this.#until = Number(until);
    this.#now = now;
  }

  /**
   * Uses the link up.  @param address address of the client  @returns the hash of the key for the session; undefined for a wrong, used or expired
   * token, or a client on another machine
   */
  take(token: string, address: string): string | undefined {
    const given = Buffer.from(hashKey(token));
    const isRight = given.length === this.#tokenHash.length && timingSafeEqual(given, this.#tokenHash);
    if (!isRight || this.#used || this.#now() > this.#until || !loopback.test(address)) return undefined;
    this.#used = true;
    return this.#keyHash;
  }
}
