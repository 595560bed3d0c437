/**
 * Delays wrong sign-ins per address and key prefix. It sees only keys already found wrong: one person's wrong keys must not lock out another's valid key,
 * since behind a proxy that is not named in `trusted_proxies` everybody has one address.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { networkOf } from "@sluice/proto/lib/limits/client-network.js";

const maxFailures = 10;
const windowMs = 60_000;
/** Delay of an answer beyond the limit. */
const delayMs = 1_000;
/** Maximum of delayed answers; others are answered at once. */
const maxDelayed = 1_024;
/** Characters of a key shown in lists: enough to distinguish keys, and not secret. */
const prefixLength = 10;
/** Maximum entries (less than a MiB); beyond it, the oldest first failure is forgotten. */
const maxEntries = 4_096;

interface Failures {
  count: number;
  readonly until: number;
}

export class SignInLimiter {
  readonly #now: () => number;
  /** Failures by address and key prefix, in the order of their first failure. */
  readonly #entries = new Map<string, Failures>();
  #delayed = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Number of remembered pairs of address and prefix. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Counts a wrong key of a client at an address. Settles at once within the limit and a second later beyond it.
   * @returns RATE_LIMITED beyond the limit
   */
  async note(address: string, key: string): Promise<Fault | undefined> {
    const failures = this.#find(`${networkOf(address)} ${key.slice(0, prefixLength)}`);
    failures.count++;
    if (failures.count <= maxFailures) return undefined;
    const fault = tooMany(failures.until - this.#now());
    if (this.#delayed >= maxDelayed) return fault;
    this.#delayed++;
    try {
      await delay(delayMs, undefined, { ref: false });
    } finally {
      this.#delayed--;
    }
    return fault;
  }

  #find(entry: string): Failures {
    const known = this.#entries.get(entry);
    if (known && known.until > this.#now()) return known;
    this.#entries.delete(entry);
    const failures = { count: 0, until: this.#now() + windowMs };
    this.#entries.set(entry, failures);
    if (this.#entries.size > maxEntries) this.#entries.delete(this.#entries.keys().next().value as string);
    return failures;
  }
}

const tooMany = (retryAfterMs: number): Fault =>
  new Fault(FaultReason.RATE_LIMITED, `Too many failed sign-ins: ${maxFailures} a minute`, {
    retryAfterMs,
    origin: FaultOrigin.GATEWAY,
    metadata: { error_type: "rate_limit_exceeded" },
  });
