/**
 * Limits requests without a valid key: per address and, for a presented key, per first characters of the key from all addresses. Beyond a number of
 * requests per minute, answers are delayed: a client in a loop then waits for its answers, and takes no time from requests with a valid key.
 */
import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { FairShares } from "@sluice/proto/lib/load/fair-shares.js";
import { Bucket, remainingUnits, waitForUnitMs } from "@sluice/proto/lib/limits/bucket.js";
import { networkOf } from "@sluice/proto/lib/limits/client-network.js";

/**
 * Requests per minute without delay, for an address and for the first characters of a key: enough for several clients behind a proxy, since a page of
 * documentation takes one request.
 */
const maxPerMinute = 600;
/** Average delay in milliseconds beyond the limit. Each delay is between half and double of it, so that answers do not come all at once. */
const delayMs = 1_000;
/** Maximum of delayed answers per address: enough for all connections of a client, but not for everything it could pipeline. */
const maxDelayed = 1_024;
/** Number of remembered addresses and keys at which idle ones are removed. After a single request, an entry is idle within a tenth of a second. */
const sweepFrom = 1_024;
/** Characters of a key shown in lists: enough to distinguish keys, and not secret. */
const prefixLength = 10;

/** The recent requests of an address, or with keys of the same first characters. */
interface Sender {
  readonly bucket: Bucket;
  delayed: number;
}

/** All requests without a valid key share one place in the event loop, because a client could invent any number of keys or addresses. */
const keylessShare = "";

export class KeylessLimiter {
  readonly #shares: Pick<FairShares, "turnOf">;
  readonly #addressOf: (request: IncomingMessage) => string;
  readonly #now: () => number;
  /** Senders by the network of an address, or by `key` and the first characters of a key. */
  readonly #senders = new Map<string, Sender>();
  #sweepAt = sweepFrom;

  /** Number of remembered addresses and first characters of keys. */
  get size(): number {
    return this.#senders.size;
  }

  /** @param addressOf finds the address of a request's client */
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
   * Delays a request without a valid key as necessary.  @returns RATE_LIMITED for an address with too many requests; the caller decides whether to
   * answer with it
   */
  async admit(request: IncomingMessage): Promise<Fault | undefined> {
    const refusal = await this.note(request);
    await this.#shares.turnOf(keylessShare);
    return refusal;
  }

  /** Counts a request, and delays it if its address, or keys with its first characters, had too many requests. Undefined within the limit. */
  note(request: IncomingMessage): Promise<Fault> | undefined {
    const now = this.#now();
    const address = this.#find(networkOf(this.#addressOf(request)), now);
    const prefix = presentedPrefix(request);
    const senders = prefix === undefined ? [address] : [address, this.#find(`key ${prefix}`, now)];
    const exceeded = senders.find(({ bucket }) => remainingUnits(maxPerMinute, bucket.aheadMs(now)) === 0);
    if (exceeded === undefined) {
      for (const { bucket } of senders) bucket.take(1, maxPerMinute, now);
      return undefined;
    }
    if (address.delayed >= maxDelayed) request.socket.destroy();
    return this.#delay(address, tooMany(waitForUnitMs(maxPerMinute, exceeded.bucket.aheadMs(now))));
  }

  async #delay(address: Sender, fault: Fault): Promise<Fault> {
    address.delayed++;
    try {
      await delay(delayMs * (0.5 + 1.5 * Math.random()), undefined, { ref: false });
      return fault;
    } finally {
      address.delayed--;
    }
  }

  #find(name: string, now: number): Sender {
    let sender = this.#senders.get(name);
    if (!sender) {
      if (this.#senders.size >= this.#sweepAt) this.#sweep(now);
      this.#senders.set(name, (sender = { bucket: new Bucket(), delayed: 0 }));
    }
    return sender;
  }

  #sweep(now: number): void {
    for (const [name, { bucket, delayed }] of this.#senders) {
      if (delayed === 0 && bucket.aheadMs(now) === 0) this.#senders.delete(name);
    }
    this.#sweepAt = Math.max(sweepFrom, 2 * this.#senders.size);
  }
}

/** The first characters of the presented key, whatever its form; undefined without a key. */
function presentedPrefix({ headers: { authorization, "x-api-key": other } }: IncomingMessage): string | undefined {
  const presented = other === undefined ? authorization?.replace(/^bearer /i, "") : String(other);
  return presented?.slice(0, prefixLength);
}

const tooMany = (retryAfterMs: number): Fault =>
  new Fault(FaultReason.RATE_LIMITED, `Rate limit exceeded: ${maxPerMinute} requests a minute without a key`, {
    retryAfterMs,
    origin: FaultOrigin.GATEWAY,
    metadata: { error_type: "rate_limit_exceeded" },
  });
