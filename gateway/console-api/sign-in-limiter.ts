/** Limits failed sign-ins by address, so that nobody can guess keys and failures cost the database next to nothing. */
import type { IncomingMessage } from "node:http";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { networkOf } from "@sluice/proto/runtime/network.js";

const maxFailures = 10;
const windowMs = 60_000;
/** Beyond it the address that failed first is forgotten: less than a MiB. */
const maxAddresses = 4_096;

interface Failures {
  count: number;
  readonly until: number;
}

export class SignInLimiter {
  readonly #now: () => number;
  /** In the order of their first failure. */
  readonly #addresses = new Map<string, Failures>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Number of remembered addresses. */
  get addresses(): number {
    return this.#addresses.size;
  }

  /**
   * Counts an attempt as failed until it has succeeded, so that attempts at the same time are limited too.
   * @returns takes the attempt out of the count, once it has succeeded
   * @throws Fault RATE_LIMITED
   */
  enter({ socket }: Pick<IncomingMessage, "socket">): () => void {
    const failures = this.#find(networkOf(socket.remoteAddress ?? ""));
    if (failures.count >= maxFailures) throw tooMany(failures.until - this.#now());
    failures.count++;
    return () => void failures.count--;
  }

  #find(network: string): Failures {
    const known = this.#addresses.get(network);
    if (known && known.until > this.#now()) return known;
    this.#addresses.delete(network);
    const failures = { count: 0, until: this.#now() + windowMs };
    this.#addresses.set(network, failures);
    if (this.#addresses.size > maxAddresses) this.#addresses.delete(this.#addresses.keys().next().value as string);
    return failures;
  }
}

const tooMany = (retryAfterMs: number): Fault =>
  new Fault(FaultReason.RATE_LIMITED, `Too many failed sign-ins: ${maxFailures} a minute`, {
    retryAfterMs,
    origin: FaultOrigin.GATEWAY,
    metadata: { error_type: "rate_limit_exceeded" },
  });
