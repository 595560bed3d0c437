/** Counts the use of rate limits in one process. */
import { Bucket, DayBucket, dayMs, sharedPart, remainingUnits } from "./bucket.ts";
import type { BucketUse, LimitedUse, Decision, JointDecision } from "./decision.ts";
import type { Flight } from "./flight.ts";
import type { TurnEnd } from "./joint-admission.ts";
import type { KeyLimits } from "./settings.ts";

/** Use of the limits by the day. */
class DayUse {
  readonly requests = new DayBucket();
  readonly tokens = new DayBucket();

  /** Returns a copy without use, measured under the same limits. */
  empty(): DayUse {
    const empty = new DayUse();
    empty.countUnder(this.requests.limit, this.tokens.limit);
    return empty;
  }

  /** Sets the limits under which the use is measured; 0 for an unknown limit. */
  countUnder(requestsPerDay: number, tokensPerDay: number): void {
    this.requests.limit = requestsPerDay;
    this.tokens.limit = tokensPerDay;
  }
}

/** Use of the limits by the minute, and of those by the day if there are any. */
class PeriodUse {
  readonly requests = new Bucket();
  readonly tokens = new Bucket();
  day: DayUse | undefined = undefined;

  ahead(now: number): BucketUse {
    return {
      requestsMs: this.requests.aheadMs(now),
      tokensMs: this.tokens.aheadMs(now),
      requestsDayMs: this.day?.requests.aheadMs(now) ?? 0,
      tokensDayMs: this.day?.tokens.aheadMs(now) ?? 0,
    };
  }

  set({ requestsMs, tokensMs, requestsDayMs, tokensDayMs }: BucketUse, now: number): void {
    this.requests.set(requestsMs, now);
    this.tokens.set(tokensMs, now);
    if (requestsDayMs === 0 && tokensDayMs === 0 && this.day === undefined) return;
    const day = (this.day ??= new DayUse());
    day.requests.set(requestsDayMs, now);
    day.tokens.set(tokensDayMs, now);
  }

  /** How far the buckets are ahead when measured under the current limits. */
  aheadUnder({ requestsPerDay, tokensPerDay }: KeyLimits, now: number): BucketUse {
    const { day } = this;
    const ahead = this.ahead(now);
    if (day === undefined) return ahead;
    return {
      ...ahead,
      ...(requestsPerDay !== undefined && { requestsDayMs: day.requests.aheadUnder(requestsPerDay, now) }),
      ...(tokensPerDay !== undefined && { tokensDayMs: day.tokens.aheadUnder(tokensPerDay, now) }),
    };
  }

  /** Measures the use of the day under changed limits from now on. */
  follow({ requestsPerDay, tokensPerDay }: KeyLimits, now: number): void {
    if (requestsPerDay !== undefined) (this.day ??= new DayUse()).requests.follow(requestsPerDay, now);
    if (tokensPerDay !== undefined) (this.day ??= new DayUse()).tokens.follow(tokensPerDay, now);
  }

  takeRequest({ requestsPerMinute, requestsPerDay }: KeyLimits, share: number, now: number): void {
    if (requestsPerMinute !== undefined) this.requests.take(1, sharedPart(requestsPerMinute, share), now);
    if (requestsPerDay !== undefined) this.day?.requests.takePart(1, share, now);
  }

  /** Returns a counted request that called no model. */
  giveRequest({ requestsPerMinute, requestsPerDay }: KeyLimits, share: number, now: number): void {
    if (requestsPerMinute !== undefined) this.requests.take(-1, sharedPart(requestsPerMinute, share), now);
    if (requestsPerDay !== undefined) (this.day ??= new DayUse()).requests.charge(-1, requestsPerDay, share, now);
  }

  /** Charges the tokens of a turn at its end. */
  takeTokens(tokens: number, { tokensPerMinute, tokensPerDay }: KeyLimits, share: number, now: number): void {
    if (tokensPerMinute !== undefined) this.tokens.take(tokens, sharedPart(tokensPerMinute, share), now);
    if (tokensPerDay !== undefined) (this.day ??= new DayUse()).tokens.charge(tokens, tokensPerDay, share, now);
  }

  copy(now: number): PeriodUse {
    const copy = new PeriodUse();
    copy.day = this.day?.empty();
    copy.set(this.ahead(now), now);
    return copy;
  }
}

/**
 * State of a key while Redis is unreachable: the use admitted by this process since, and the state at the last answer
 * of Redis, which may lose its data.
 */
export class OfflineUse extends PeriodUse {
  readonly lastAnswer: PeriodUse;

  constructor(lastAnswer: PeriodUse) {
    super();
    this.lastAnswer = lastAnswer;
  }
}

/** Use of a key or of a group of models, as far as this process knows. */
export class KeyUse extends PeriodUse {
  /** Number of running turns. */
  open = 0;
  /** Number of requests that wait for an answer of Redis, including those not sent yet. */
  pending = 0;
  /** Whether a call for this key is running, for which later requests wait. */
  isOnWay = false;
  /** The next call, which the waiting requests share. */
  next: Flight | undefined = undefined;
  offline: OfflineUse | undefined = undefined;
  /** Whether this use must still be reported to Redis, which was unavailable. */
  isUntold = false;

  /** Number of turns that Redis has to know, without those still waiting to be sent. */
  get sent(): number {
    return this.open + this.pending - (this.next?.steps ?? 0);
  }

  isIdle(now: number): boolean {
    if (this.open > 0 || this.pending > 0) return false;
    const { requests, tokens, day } = this;
    if (requests.aheadMs(now) > 0 || tokens.aheadMs(now) > 0) return false;
    return day === undefined || (day.requests.aheadMs(now) === 0 && day.tokens.aheadMs(now) === 0);
  }
}

/** The limits of a key or a group of models, with its use. */
export interface CountedLimits {
  /** Id of the use, in this process and in Redis. */
  readonly id: string;
  readonly use: KeyUse;
  readonly limits: KeyLimits;
}

/** Decides about a request in this process. @param share fraction of the limits that this process may use, at most 1 */
export function decideLocally(
  use: KeyUse,
  limits: KeyLimits,
  limited: LimitedUse,
  share: number,
  now: number,
): Decision {
  const refusedBy = findReached(use, limits, limited, share, now);
  if (refusedBy === undefined && limited.request) use.takeRequest(limits, share, now);
  return { refusedBy, ahead: use.ahead(now) };
}

/** Decides about several groups of limits at once: a request counts in all of them or in none. */
export function decideJointly(
  all: readonly CountedLimits[],
  limited: LimitedUse,
  share: number,
  now: number,
): JointDecision {
  for (const [index, { use, limits }] of all.entries()) {
    const refusedBy = findReached(use, limits, limited, share, now);
    if (refusedBy !== undefined)
      return { refusedBy, index, ahead: all.map((each) => each.use.aheadUnder(each.limits, now)) };
  }
  for (const { use, limits } of all) {
    use.follow(limits, now);
    if (limited.request) use.takeRequest(limits, share, now);
  }
  return { refusedBy: undefined, index: 0, ahead: all.map(({ use }) => use.ahead(now)) };
}

/** Finds the first exhausted limit. */
function findReached(
  use: KeyUse,
  limits: KeyLimits,
  limited: LimitedUse,
  share: number,
  now: number,
): Decision["refusedBy"] {
  const { requestsPerMinute, tokensPerMinute, requestsPerDay, tokensPerDay, concurrentRequests } = limits;
  const { day } = use;
  if (limited.request && isReached(requestsPerMinute, use.requests, share, now)) return "requests";
  if (limited.request && day && isDayReached(requestsPerDay, day.requests, share, now)) return "requests_per_day";
  if (limited.tokens && isReached(tokensPerMinute, use.tokens, share, now)) return "tokens";
  if (limited.tokens && day && isDayReached(tokensPerDay, day.tokens, share, now)) return "tokens_per_day";
  if (!limited.turn || concurrentRequests === undefined) return undefined;
  return use.open >= sharedPart(concurrentRequests, share) ? "concurrency" : undefined;
}

const isReached = (limit: number | undefined, bucket: Bucket, share: number, now: number): boolean =>
  limit !== undefined && remainingUnits(sharedPart(limit, share), bucket.aheadMs(now)) === 0;

const isDayReached = (limit: number | undefined, bucket: DayBucket, share: number, now: number): boolean =>
  limit !== undefined && remainingUnits(sharedPart(limit, share), bucket.aheadUnder(limit, now), dayMs) === 0;

/** Charges the use of a turn at its end. Use above the limit delays the next turn. */
export function charge(
  use: PeriodUse,
  limits: KeyLimits,
  { tokens, isUnused }: TurnEnd,
  share: number,
  now: number,
): void {
  use.takeTokens(tokens, limits, share, now);
  if (isUnused) use.giveRequest(limits, share, now);
}

/** Number of entries above which unused ones are removed. */
const sweepFrom = 1_024;

/** Entries of all keys and groups of models with running turns or recent use. */
export class KeyUses {
  readonly #uses = new Map<string, KeyUse>();
  #sweepAt = sweepFrom;

  of(keyHash: string, now: number): KeyUse {
    if (this.#uses.size >= this.#sweepAt && !this.#uses.has(keyHash)) this.#sweep(now);
    return this.#find(keyHash);
  }

  /**
   * Finds several entries together. Unused entries are removed before all of them are looked up, since a removal in
   * between could drop one just found.
   */
  ofAll(rows: readonly Pick<CountedLimits, "id" | "limits">[], now: number): readonly CountedLimits[] {
    if (this.#uses.size + rows.length > this.#sweepAt) this.#sweep(now);
    return rows.map(({ id, limits }) => ({ id, limits, use: this.#find(id) }));
  }

  [Symbol.iterator](): IterableIterator<[string, KeyUse]> {
    return this.#uses.entries();
  }

  /** Removes an entry without running turns and recent use. */
  release(keyHash: string, use: KeyUse, now: number): void {
    if (use.isIdle(now)) this.#uses.delete(keyHash);
  }

  #find(keyHash: string): KeyUse {
    let use = this.#uses.get(keyHash);
    if (!use) this.#uses.set(keyHash, (use = new KeyUse()));
    return use;
  }

  #sweep(now: number): void {
    for (const [keyHash, use] of this.#uses) this.release(keyHash, use, now);
    this.#sweepAt = Math.max(sweepFrom, 2 * this.#uses.size);
  }
}
