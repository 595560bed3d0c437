/**
 * Limits the number of audit entries about keys used from outside their allowed networks, so the holder of a
 * stolen key cannot flood the log.
 */
import { networkOf } from "./client-network.ts";
import { WindowCounts } from "./window-counts.ts";

const windowMs = 60_000;
/** Maximum audit entries per key and minute, from all addresses together. */
const maxOfKey = 10;

export class NetworkRefusalBound {
  readonly #now: () => number;
  readonly #pairs = new WindowCounts(windowMs);
  readonly #keys = new WindowCounts(windowMs);

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Whether to record a refusal: the first in a minute for a key and a client network is recorded. @param address of
   * the client; empty when unknown
   */
  admits(keyHash: string, address: string): boolean {
    const now = this.#now();
    if (this.#pairs.count(`${keyHash} ${networkOf(address)}`, now).count > 1) return false;
    if (this.#keys.count(keyHash, now).count <= maxOfKey) return true;
    this.#keys.takeBack(keyHash);
    return false;
  }

  /** Undoes `admits` for a refusal that could not be recorded, so the next one is tried. */
  release(keyHash: string, address: string): void {
    this.#pairs.forget(`${keyHash} ${networkOf(address)}`);
    this.#keys.takeBack(keyHash);
  }
}
