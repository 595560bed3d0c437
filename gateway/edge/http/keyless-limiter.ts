/**
 * Limits requests without a valid key, by address. Beyond a number of requests per minute the answers to an address are delayed: a client in a loop waits
 * for its answers, and takes no time from requests with a key.
 */
import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { FairShares } from "@sluice/proto/lib/load/fair-shares.js";
import { Bucket, remainingUnits, waitForUnitMs } from "@sluice/proto/lib/limits/bucket.js";
import { networkOf } from "@sluice/proto/lib/limits/client-network.js";

/** Undelayed requests per address and minute: enough for several clients behind a proxy, where a page of documentation is one request. */
const maxPerMinute = 600;
/** Average delay of an answer beyond the limit, randomized from half to double, to spread delayed answers. */
const delayMs = 1_000;
/** Maximum of delayed answers per address: enough for a client's connections, but not for everything it can pipeline. */
const maxDelayed = 1_024;
/** Number of remembered addresses at which idle ones are removed. */
const sweepFrom = 1_024;

interface Address {
  readonly bucket: Bucket;
  delayed: number;
}

/** All requests without a valid key have one share, because a client could invent any number of keys or addresses. */
const keylessShare = "";

export class KeylessLimiter {
  readonly #shares: Pick<FairShares, "turnOf">;
  readonly #addressOf: (request: IncomingMessage) => string;
  readonly #now: () => number;
  readonly #addresses = new Map<string, Address>();
  #sweepAt = sweepFrom;

  /** @param addressOf address of the client of a request */
  constructor(
    shares: Pick<FairShares, "turnOf">,
    addressOf: (request: IncomingMessage) => string,
    now: () => number = () => performance.now(),
  ) {
    this.#shares = shares;
    this.#addressOf = addressOf;
    this.#now = now;
  }

  /**
   * Settles when a request without a valid key may be answered.
   * @returns RATE_LIMITED for an address with too many requests; the caller decides whether to answer with it
   */
  async admit(request: IncomingMessage): Promise<Fault | undefined> {
    const refusal = await this.note(request);
    await this.#shares.turnOf(keylessShare);
    return refusal;
  }

  /** Counts a request, and delays it if its address has sent too many. Undefined within the limit. */
  note(request: IncomingMessage): Promise<Fault> | undefined {
    const now = this.#now();
    const address = this.#findAddress(networkOf(this.#addressOf(request)), now);
    const ms = waitForUnitMs(maxPerMinute, address.bucket.aheadMs(now));
    if (remainingUnits(maxPerMinute, address.bucket.aheadMs(now)) > 0) {
      address.bucket.take(1, maxPerMinute, now);
      return undefined;
    }
    if (address.delayed >= maxDelayed) request.socket.destroy();
    return this.#delay(address, tooMany(ms));
  }

  async #delay(address: Address, fault: Fault): Promise<Fault> {
    address.delayed++;
    try {
      await delay(delayMs * (0.5 + 1.5 * Math.random()), undefined, { ref: false });
      return fault;
    } finally {
      address.delayed--;
    }
  }

  #findAddress(network: string, now: number): Address {
    let address = this.#addresses.get(network);
    if (!address) {
      if (this.#addresses.size >= this.#sweepAt) this.#sweep(now);
      this.#addresses.set(network, (address = { bucket: new Bucket(), delayed: 0 }));
    }
    return address;
  }

  #sweep(now: number): void {
    for (const [network, { bucket, delayed }] of this.#addresses) {
      if (delayed === 0 && bucket.aheadMs(now) === 0) this.#addresses.delete(network);
    }
    this.#sweepAt = Math.max(sweepFrom, 2 * this.#addresses.size);
  }
}

const tooMany = (retryAfterMs: number): Fault =>
  new Fault(FaultReason.RATE_LIMITED, `Rate limit exceeded: ${maxPerMinute} requests a minute without a key`, {
    retryAfterMs,
    origin: FaultOrigin.GATEWAY,
    metadata: { error_type: "rate_limit_exceeded" },
  });
