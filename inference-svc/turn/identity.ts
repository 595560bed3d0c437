/** What a provider is told in the place of names: keyed hashes, so that it can tell them apart and nobody learns or shares them. */
import { createHmac } from "node:crypto";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

/** End users of agents come back within seconds, and most requests name none: their key stands for them. */
const maxRemembered = 4_096;

export class Identities {
  readonly #secret: string;
  readonly #hashes = new Map<string, string>();

  /** @param secret shared by all replicas: an end user stays the same whoever serves */
  constructor(secret: string) {
    this.#secret = secret;
  }

  /** The hash of the safety_identifier, else of the user, else of the key alone; the same text under another key is somebody else. */
  of(keyHash: string, { safetyIdentifier, user }: RunTurnRequest): string {
    const identity = `${keyHash}\0${safetyIdentifier ?? user ?? ""}`;
    const known = this.#hashes.get(identity);
    if (known !== undefined) return known;
    const hash = createHmac("sha256", this.#secret).update(identity).digest("base64url");
    // Forgetting all at once costs a hash each, and nothing has to be kept in order.
    if (this.#hashes.size >= maxRemembered) this.#hashes.clear();
    // An identifier has no limit of its own; a long one is not worth its memory.
    if (identity.length <= 512) this.#hashes.set(identity, hash);
    return hash;
  }

  /** The provider's account is the house's, so that a bare name would let one key read what another one has in its cache. */
  cacheKeyOf(keyHash: string, { promptCacheKey }: RunTurnRequest): string | undefined {
    if (promptCacheKey === undefined || promptCacheKey === "") return undefined;
    return createHmac("sha256", this.#secret).update(`${keyHash}\0cache\0${promptCacheKey}`).digest("base64url");
  }
}
