/** Bounds the entries of the audit log about keys that are used from elsewhere, so that nobody who holds such a key can flood the log. */
import { networkOf } from "./client-network.ts";
import { WindowCounts } from "./window-counts.ts";

const windowMs = 60_000;
/** Entries a minute of a key, from whatever addresses. */
const maxOfKey = 10;

export class NetworkRefusalBound {
  readonly #now: () => number;
  readonly #pairs = new WindowCounts(windowMs);
  readonly #keys = new WindowCounts(windowMs);

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether a refusal is entered: the first one in a minute of a key and a network of clients. @param address plain; empty when it is unknown */
  admits(keyHash: string, address: string): boolean {
    const now = this.#now();
    if (this.#pairs.count(`${keyHash} ${networkOf(address)}`, now).count > 1) return false;
    if (this.#keys.count(keyHash, now).count <= maxOfKey) return true;
    this.#keys.takeBack(keyHash);
    return false;
  }

  /** Takes back an admitted refusal that could not be entered, so that the next one is tried. */
  release(keyHash: string, address: string): void {
    this.#pairs.forget(`${keyHash} ${networkOf(address)}`);
    this.#keys.takeBack(keyHash);
  }
}
