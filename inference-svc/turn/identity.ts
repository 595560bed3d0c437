/** Keyed hashes sent to providers instead of names: a provider can distinguish end users, but learns none of their names. */
import { createHmac } from "node:crypto";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

/**
 * Maximum number of cached hashes. Agents send requests of one end user within seconds of each other; requests that
 * name none share one entry per key.
 */
const maxRemembered = 4_096;

export class Identities {
  readonly #secret: string;
  readonly #hashes = new Map<string, string>();

  /** @param secret secret of the installation, shared by all replicas, so an end user has the same hash in each */
  constructor(secret: string) {
    this.#secret = secret;
  }

  /** The hash of safety_identifier, else of user, else of only the key. The same text gives another hash under another key. */
  hashUser(keyHash: string, { safetyIdentifier, user }: RunTurnRequest): string {
    const identity = `${keyHash}\0${safetyIdentifier ?? user ?? ""}`;
    const known = this.#hashes.get(identity);
    if (known !== undefined) return known;
    const hash = createHmac("sha256", this.#secret).update(identity).digest("base64url");
    // Clearing the whole map costs each entry one hash later, and needs no order of use.
    if (this.#hashes.size >= maxRemembered) this.#hashes.clear();
    // Identifiers have no maximum length, and a long one is not worth its memory.
    if (identity.length <= 512) this.#hashes.set(identity, hash);
    return hash;
  }

  /**
   * Hashes the key into `prompt_cache_key`. All keys share the operator's account at the provider, so with the bare
   * name, one key could read another key's cache.
   */
  hashCacheKey(keyHash: string, { promptCacheKey }: RunTurnRequest): string | undefined {
    if (promptCacheKey === undefined || promptCacheKey === "") return undefined;
    return createHmac("sha256", this.#secret).update(`${keyHash}\0cache\0${promptCacheKey}`).digest("base64url");
  }
}
