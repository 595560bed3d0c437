/** Keyed hashes sent to providers instead of names: a provider can tell end users apart and learns none of their names. */
import { createHmac } from "node:crypto";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

/** Agents send requests of one end user within seconds of each other, and most requests name none: then all requests of a key share one entry. */
const maxRemembered = 4_096;

export class Identities {
  readonly #secret: string;
  readonly #hashes = new Map<string, string>();

  /** @param secret shared by all replicas, so an end user has the same hash in each */
  constructor(secret: string) {
    this.#secret = secret;
  }

  /** Hashes the safety_identifier, else the user, else only the key. The same text under another key gives another hash. */
  hashUser(keyHash: string, { safetyIdentifier, user }: RunTurnRequest): string {
    const identity = `${keyHash}\0${safetyIdentifier ?? user ?? ""}`;
    const known = this.#hashes.get(identity);
    if (known !== undefined) return known;
    const hash = createHmac("sha256", this.#secret).update(identity).digest("base64url");
    // Clearing the whole map costs one hash for each entry later, and needs no order of use.
    if (this.#hashes.size >= maxRemembered) this.#hashes.clear();
    // Identifiers have no length limit; a long one is not worth its memory.
    if (identity.length <= 512) this.#hashes.set(identity, hash);
    return hash;
  }

  /**
   * Hashes the key into `prompt_cache_key`: all keys share the operator's account at the provider, so with a bare name a key could read another
   * key's cache.
   */
  hashCacheKey(keyHash: string, { promptCacheKey }: RunTurnRequest): string | undefined {
    if (promptCacheKey === undefined || promptCacheKey === "") return undefined;
    return createHmac("sha256", this.#secret).update(`${keyHash}\0cache\0${promptCacheKey}`).digest("base64url");
  }
}
