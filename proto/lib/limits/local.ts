/** Counts the limits of keys in one process. */
import { Bucket, remainingUnits } from "./bucket.ts";
import type { BucketUse, LimitedUse, Decision } from "./decision.ts";
import type { KeyLimits } from "./settings.ts";

/** State of a key while Redis is unreachable: requests admitted by this process, and the last answer of Redis, which may lose its data. */
export class OfflineUse {
  readonly lastAnswer: BucketUse;
  readonly requests = new Bucket();
  readonly tokens = new Bucket();

  constructor(lastAnswer: BucketUse) {
    this.lastAnswer = lastAnswer;
  }
}

/** Use of a key, as known to this process. */
export class KeyUse {
  readonly requests = new Bucket();
  readonly tokens = new Bucket();
  /** Number of open turns. */
  open = 0;
  /** Number of pending calls to Redis. */
  pending = 0;
  offline: OfflineUse | undefined;

  ahead(now: number): BucketUse {
    return { requestsMs: this.requests.aheadMs(now), tokensMs: this.tokens.aheadMs(now) };
  }

  isIdle(now: number): boolean {
    const { requestsMs, tokensMs } = this.ahead(now);
    return this.open === 0 && this.pending === 0 && requestsMs === 0 && tokensMs === 0;
  }
}

/** @param share fraction of the limits available to this process, at most 1 */
export function decideLocally(
  use: KeyUse,
  limits: KeyLimits,
  limited: LimitedUse,
  share: number,
  now: number,
): Decision {
  const { requestsPerMinute } = limits;
  const refusedBy = findReached(use, limits, limited, share, now);
  if (refusedBy === undefined && limited.request && requestsPerMinute !== undefined) {
    use.requests.take(1, partOf(requestsPerMinute, share), now);
    use.offline?.requests.take(1, requestsPerMinute, now);
  }
  return { refusedBy, ahead: use.ahead(now) };
}

/** The first exhausted limit. */
function findReached(
  use: KeyUse,
  limits: KeyLimits,
  limited: LimitedUse,
  share: number,
  now: number,
): Decision["refusedBy"] {
  const { requestsPerMinute, tokensPerMinute, concurrentRequests } = limits;
  if (limited.request && isReached(requestsPerMinute, use.requests, share, now)) return "requests";
  if (limited.tokens && isReached(tokensPerMinute, use.tokens, share, now)) return "tokens";
  return limited.turn && use.open >= partOf(concurrentRequests, share) ? "concurrency" : undefined;
}

const isReached = (limit: number | undefined, bucket: Bucket, share: number, now: number): boolean =>
  limit !== undefined && remainingUnits(partOf(limit, share), bucket.aheadMs(now)) === 0;

/** Charges tokens at the end of a turn. Use above the limit delays the next turn. */
export function chargeTokens(use: KeyUse, limit: number, tokens: number, share: number, now: number): void {
  use.tokens.take(tokens, partOf(limit, share), now);
  use.offline?.tokens.take(tokens, limit, now);
}

const partOf = (limit: number, share: number): number => Math.max(1, Math.floor(limit * share));

/** Number of keys above which unused entries are swept. */
const sweepFrom = 1_024;

/** Every key with open turns or recent use. */
export class KeyUses {
  readonly #uses = new Map<string, KeyUse>();
  #sweepAt = sweepFrom;

  of(keyHash: string, now: number): KeyUse {
    let use = this.#uses.get(keyHash);
    if (!use) {
      if (this.#uses.size >= this.#sweepAt) this.#sweep(now);
      this.#uses.set(keyHash, (use = new KeyUse()));
    }
    return use;
  }

  [Symbol.iterator](): IterableIterator<[string, KeyUse]> {
    return this.#uses.entries();
  }

  /** Forgets a key without open turns and recent use. */
  release(keyHash: string, use: KeyUse, now: number): void {
    if (use.isIdle(now)) this.#uses.delete(keyHash);
  }

  #sweep(now: number): void {
    for (const [keyHash, use] of this.#uses) this.release(keyHash, use, now);
    this.#sweepAt = Math.max(sweepFrom, 2 * this.#uses.size);
  }
}
