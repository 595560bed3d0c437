/**
 * Limits requests without a valid key, by address and, where a key was presented, by its first characters from all addresses. Beyond a number of requests
 * per minute the answers are delayed: a client in a loop waits for its answers, and takes no time from requests with a key.
 */
import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { FairShares } from "@sluice/proto/lib/load/fair-shares.js";
import { Bucket, remainingUnits, waitForUnitMs } from "@sluice/proto/lib/limits/bucket.js";
import { networkOf } from "@sluice/proto/lib/limits/client-network.js";

/** Undelayed requests per minute and address, and per minute and beginning of a key: enough for several clients behind a proxy, where a page of documentation is one request. */
const maxPerMinute = 600;
/** Average delay of an answer beyond the limit, randomized from half to double, to spread delayed answers. */
const delayMs = 1_000;
/** Maximum of delayed answers per address: enough for a client's connections, but not for everything it can pipeline. */
const maxDelayed = 1_024;
/** Number of remembered addresses and keys at which idle ones are removed: a name is idle a tenth of a second after a single request. */
const sweepFrom = 1_024;
/** Characters of a key shown in lists: enough to distinguish keys, and not secret. */
const prefixLength = 10;

/** The requests of an address, or with keys of one beginning. */
interface Sender {
  readonly bucket: Bucket;
  delayed: number;
}

/** All requests without a valid key have one share, because a client could invent any number of keys or addresses. */
const keylessShare = "";

export class KeylessLimiter {
  readonly #shares: Pick<FairShares, "turnOf">;
  readonly #addressOf: (request: IncomingMessage) => string;
  readonly #now: () => number;
  /** Counts by the network of an address, or by `key` and the beginning of a key. */
  readonly #senders = new Map<string, Sender>();
  #sweepAt = sweepFrom;

  /** Number of remembered addresses and beginnings of keys. */
  get size(): number {
    return this.#senders.size;
  }

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

  /** Counts a request, and delays it if its address has sent too many, or keys of its beginning were too many. Undefined within the limit. */
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

/** The beginning of the presented key, whatever its form; undefined without one. */
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
