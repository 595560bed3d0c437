/**
 * Delays wrong sign-ins by address, by key prefix, and by both together. It sees only keys already found wrong: one person's wrong keys must not lock out another's valid key,
 * since behind a proxy that is not named in `trusted_proxies` everybody has one address.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { networkOf } from "@sluice/proto/lib/limits/client-network.js";
import { WindowCounts } from "@sluice/proto/lib/limits/window-counts.js";

/** Wrong keys a minute with one key prefix from one address: a person who mistypes a key. */
const maxOfPair = 10;
/** Wrong keys a minute from one address, whatever the keys: people behind one address. */
const maxOfAddress = 60;
/** Wrong keys a minute with one key prefix, whatever the addresses. */
const maxOfPrefix = 60;
const windowMs = 60_000;
/** Delay of an answer beyond a limit, in milliseconds. */
const delayMs = 1_000;
/** Maximum of delayed answers at a time; further ones are sent at once. */
const maxDelayed = 1_024;
/** Characters of a key shown in lists: enough to distinguish keys, and not secret. */
const prefixLength = 10;
/** Wrong sign-ins of the current minute by address, by key prefix, or by both. */
class FailureCounts {
  readonly #limit: number;
  readonly #counts = new WindowCounts(windowMs);

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#counts.size;
  }

  /** Counts a failure. @returns RATE_LIMITED beyond the limit */
  note(name: string, now: number): Fault | undefined {
    const { count, until } = this.#counts.count(name, now);
    return count > this.#limit ? tooMany(this.#limit, until - now) : undefined;
  }
}

export class SignInLimiter {
  readonly #now: () => number;
  readonly #pairs = new FailureCounts(maxOfPair);
  readonly #addresses = new FailureCounts(maxOfAddress);
  readonly #prefixes = new FailureCounts(maxOfPrefix);
  #delayed = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Number of remembered names: addresses, prefixes, or pairs of both. */
  get size(): number {
    return this.#pairs.size + this.#addresses.size + this.#prefixes.size;
  }

  /**
   * Counts a wrong key of a client at an address. Settles at once within the limit and a second later beyond it.
   * @returns RATE_LIMITED beyond the limit
   */
  async note(address: string, key: string): Promise<Fault | undefined> {
    const now = this.#now();
    const [network, prefix] = [networkOf(address), key.slice(0, prefixLength)];
    const found = [
      this.#pairs.note(`${network} ${prefix}`, now),
      this.#addresses.note(network, now),
      this.#prefixes.note(prefix, now),
    ];
    const fault = found.find((each) => each !== undefined);
    if (fault === undefined) return undefined;
    if (this.#delayed >= maxDelayed) return fault;
    this.#delayed++;
    try {
      await delay(delayMs, undefined, { ref: false });
    } finally {
      this.#delayed--;
    }
    return fault;
  }
}

const tooMany = (limit: number, retryAfterMs: number): Fault =>
  new Fault(FaultReason.RATE_LIMITED, `Too many failed sign-ins: ${limit} a minute`, {
    retryAfterMs,
    origin: FaultOrigin.GATEWAY,
    metadata: { error_type: "rate_limit_exceeded" },
  });
