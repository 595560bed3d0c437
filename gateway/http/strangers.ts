/**
 * Requests without a valid key, by address. Each address is answered at once so many times a minute, and later beyond that: a client that repeats
 * such requests waits for its answers, and its loop takes no time from requests with a key.
 */
import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { FairShares } from "@sluice/proto/runtime/fair-shares.js";
import { Bucket, remainingOf, waitMs } from "@sluice/proto/runtime/limits/bucket.js";
import { networkOf } from "@sluice/proto/runtime/network.js";

/** Some clients share an address behind a proxy, and a page of documentation is one request. */
const maxPerMinute = 600;
/** Delay of an answer beyond the limit; it is halved and up to doubled at random, so that delayed answers do not come together. */
const delayMs = 1_000;
/** Answers of one address that may wait: the connections of one client, and not all that it can pipeline. */
const maxDelayed = 1_024;
/** Addresses that are not remembered for anything are looked for when there are so many. */
const sweepFrom = 1_024;

interface Stranger {
  readonly bucket: Bucket;
  delayed: number;
}

/** All requests without a valid key are one share: a client could invent as many keys, or addresses, as it likes. */
const strangersShare = "";

export class Strangers {
  readonly #shares: Pick<FairShares, "turnOf">;
  readonly #now: () => number;
  readonly #strangers = new Map<string, Stranger>();
  #sweepAt = sweepFrom;

  constructor(shares: Pick<FairShares, "turnOf">, now: () => number = () => performance.now()) {
    this.#shares = shares;
    this.#now = now;
  }

  /**
   * Settles when a request without a valid key may be answered.
   * @returns RATE_LIMITED where its address has sent too many, for what may be refused because of it
   */
  async turnOf(request: IncomingMessage): Promise<Fault | undefined> {
    const refusal = await this.note(request);
    await this.#shares.turnOf(strangersShare);
    return refusal;
  }

  /** Counts one request, and holds it up when its address has sent too many. Undefined: within the limit. */
  note({ socket }: IncomingMessage): Promise<Fault> | undefined {
    const now = this.#now();
    const stranger = this.#strangerAt(networkOf(socket.remoteAddress ?? ""), now);
    const ms = waitMs(maxPerMinute, stranger.bucket.aheadMs(now));
    if (remainingOf(maxPerMinute, stranger.bucket.aheadMs(now)) > 0) {
      stranger.bucket.take(1, maxPerMinute, now);
      return undefined;
    }
    if (stranger.delayed >= maxDelayed) socket.destroy();
    return this.#delay(stranger, tooMany(ms));
  }

  async #delay(stranger: Stranger, fault: Fault): Promise<Fault> {
    stranger.delayed++;
    try {
      await delay(delayMs * (0.5 + 1.5 * Math.random()), undefined, { ref: false });
      return fault;
    } finally {
      stranger.delayed--;
    }
  }

  #strangerAt(network: string, now: number): Stranger {
    let stranger = this.#strangers.get(network);
    if (!stranger) {
      if (this.#strangers.size >= this.#sweepAt) this.#sweep(now);
      this.#strangers.set(network, (stranger = { bucket: new Bucket(), delayed: 0 }));
    }
    return stranger;
  }

  #sweep(now: number): void {
    for (const [network, { bucket, delayed }] of this.#strangers) {
      if (delayed === 0 && bucket.aheadMs(now) === 0) this.#strangers.delete(network);
    }
    this.#sweepAt = Math.max(sweepFrom, 2 * this.#strangers.size);
  }
}

const tooMany = (retryAfterMs: number): Fault =>
  new Fault(FaultReason.RATE_LIMITED, `Rate limit exceeded: ${maxPerMinute} requests a minute without a key`, {
    retryAfterMs,
    origin: FaultOrigin.GATEWAY,
    metadata: { error_type: "rate_limit_exceeded" },
  });
