/** Counts the limits of keys in one process. */
import { Bucket, DayBucket, dayMs, sharedPart, remainingUnits } from "./bucket.ts";
import type { BucketUse, LimitedUse, Decision, JointDecision } from "./decision.ts";
import type { Flight } from "./flight.ts";
import type { TurnEnd } from "./joint-admission.ts";
import type { KeyLimits } from "./settings.ts";

/** Use by the day. */
class DayUse {
  readonly requests = new DayBucket();
  readonly tokens = new DayBucket();

  /** Nothing used, under the same limits. */
  empty(): DayUse {
    const empty = new DayUse();
    empty.countUnder(this.requests.limit, this.tokens.limit);
    return empty;
  }

  /** Takes the limits under which the use was told; 0 for an unknown one. */
  countUnder(requestsPerDay: number, tokensPerDay: number): void {
    this.requests.limit = requestsPerDay;
    this.tokens.limit = tokensPerDay;
  }
}

/** Use by the minute, and by the day where a limit by the day was met. */
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

  /** The same under present limits. */
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

  /** Counts the use of the day under changed limits, where it leaves a request. */
  follow({ requestsPerDay, tokensPerDay }: KeyLimits, now: number): void {
    if (requestsPerDay !== undefined) (this.day ??= new DayUse()).requests.follow(requestsPerDay, now);
    if (tokensPerDay !== undefined) (this.day ??= new DayUse()).tokens.follow(tokensPerDay, now);
  }

  takeRequest({ requestsPerMinute, requestsPerDay }: KeyLimits, share: number, now: number): void {
    if (requestsPerMinute !== undefined) this.requests.take(1, sharedPart(requestsPerMinute, share), now);
    if (requestsPerDay !== undefined) this.day?.requests.takePart(1, share, now);
  }

  /** Gives a request back that came to nothing. */
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

/** State of a key while Redis is unreachable: requests admitted by this process, and the last answer of Redis, which may lose its data. */
export class OfflineUse extends PeriodUse {
  readonly lastAnswer: PeriodUse;

  constructor(lastAnswer: PeriodUse) {
    super();
    this.lastAnswer = lastAnswer;
  }
}

/** Use of a key or of a group of models, as known to this process. */
export class KeyUse extends PeriodUse {
  /** Number of open turns. */
  open = 0;
  /** Number of steps in Redis without their answer yet, those that wait to be sent included. */
  pending = 0;
  /** Whether a call is on its way, whose answer later steps wait for. */
  isOnWay = false;
  /** The call of the waiting steps. */
  next: Flight | undefined = undefined;
  offline: OfflineUse | undefined = undefined;
  /** Whether Redis, which has come back, is yet to be told of it. */
  isUntold = false;

  /** Turns that Redis has to know of, except those of waiting steps. */
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

/** A key, or a group of models, with its use. */
export interface CountedLimits {
  /** Names the use in this process and in Redis. */
  readonly id: string;
  readonly use: KeyUse;
  readonly limits: KeyLimits;
}

/** @param share fraction of the limits available to this process, at most 1 */
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

/** Decides about several limits at once: a request counts towards all of them or none. */
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

/** The first exhausted limit. */
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

/** Charges a turn at its end. Use above the limit delays the next turn. */
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

/** Number of keys above which unused entries are swept. */
const sweepFrom = 1_024;

/** Every key with open turns or recent use. */
export class KeyUses {
  readonly #uses = new Map<string, KeyUse>();
  #sweepAt = sweepFrom;

  of(keyHash: string, now: number): KeyUse {
    if (this.#uses.size >= this.#sweepAt && !this.#uses.has(keyHash)) this.#sweep(now);
    return this.#find(keyHash);
  }

  /** The uses of several limits together. A sweep comes before all of them, because it would forget one that was just found. */
  ofAll(rows: readonly Pick<CountedLimits, "id" | "limits">[], now: number): readonly CountedLimits[] {
    if (this.#uses.size + rows.length > this.#sweepAt) this.#sweep(now);
    return rows.map(({ id, limits }) => ({ id, limits, use: this.#find(id) }));
  }

  [Symbol.iterator](): IterableIterator<[string, KeyUse]> {
    return this.#uses.entries();
  }

  /** Forgets a key without open turns and recent use. */
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
