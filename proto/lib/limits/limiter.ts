/**
 * Decides whether a key may send a request. Requests, tokens and concurrent turns are counted only here, for HTTP and
 * gRPC.
 */
import type { Caller } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import { Fault, FaultOrigin, FaultReason } from "../faults/fault.ts";
import { Counter, type Registry } from "../metrics/metrics.ts";
import {
  type LimitedUse,
  type Decision,
  type JointDecision,
  type RateLimitHeaders,
  hasRate,
  rateLimitHeaders,
  newTurnUse,
  refusalOf,
} from "./decision.ts";
import { JointAdmission, type ModelLimitRow, type TurnEnd, nothingUsed } from "./joint-admission.ts";
import {
  type CountedLimits,
  type KeyUse,
  KeyUses,
  type OfflineUse,
  charge,
  decideJointly,
  decideLocally,
} from "./local.ts";
import { lateOutcome } from "./late-answer.ts";
import { type MeteredRequest, TokenMeter } from "./meter.ts";
import { SharedLimits, type SharedOptions } from "./shared.ts";
import { type ConfigLimits, type KeyLimits, limitsOf } from "./settings.ts";

export interface LimiterOptions {
  /** Current rate limits in the configuration file. */
  readonly config: () => ConfigLimits;
  readonly origin: FaultOrigin.GATEWAY | FaultOrigin.INFERENCE;
  readonly registry: Registry;
  /** Settings of Redis; without it, this process counts by itself. */
  readonly shared?: SharedOptions | undefined;
}

/** A request's place in the rate limits of its key, from its admission to its end. */
export class Admission {
  /** Fault RATE_LIMITED when the key is over a limit; undefined when the request may continue. */
  readonly refusal: Fault | undefined;
  /** Rate limit headers for every answer; undefined when the key has no limit per minute. */
  readonly headers: RateLimitHeaders | undefined;
  /** Whether the key has a limit on tokens. */
  readonly countsTokens: boolean;
  /** Meter for the tokens of the turn; undefined before `countTokens` is called, and without a limit on tokens. */
  meter: TokenMeter | undefined = undefined;
  readonly #ended: ((tokens: number) => void) | undefined;
  #isOver = false;

  /** @param ended receives the tokens of an admitted request at its end */
  constructor(
    refusal: Fault | undefined,
    headers: RateLimitHeaders | undefined,
    countsTokens: boolean,
    ended?: (tokens: number) => void,
  ) {
    this.refusal = refusal;
    this.headers = headers;
    this.countsTokens = countsTokens;
    this.#ended = ended;
  }

  /** Begins to count the tokens of the turn, if its key has a limit on tokens. */
  countTokens(request: MeteredRequest): void {
    if (this.countsTokens) this.meter = new TokenMeter(request);
  }

  /**
   * Ends the turn, if one was begun, and charges its key with the counted tokens. Only the first call has an effect.
   * @param left whether the client disconnected before the end
   */
  leave(left: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ended?.(this.meter?.tokens(left) ?? 0);
  }
}

export class Limiter {
  readonly #options: LimiterOptions;
  readonly #uses = new KeyUses();
  readonly #shared: SharedLimits | undefined;
  readonly #refused: Counter<"limit">;
  readonly #refusedModels: Counter<"limit">;
  /** Number of running turns. */
  open = 0;

  constructor(options: LimiterOptions) {
    this.#options = options;
    this.#shared = options.shared && new SharedLimits(options.shared, this.#uses);
    this.#refused = new Counter({
      name: "sluice_rate_limited_total",
      help: "Requests that were refused because their key had reached a limit: requests, tokens or concurrency.",
      labelNames: ["limit"],
      registers: [options.registry],
    });
    this.#refusedModels = new Counter({
      name: "sluice_model_limited_total",
      help: "Calls of models that were refused by a limit of these models for the key or its workspace.",
      labelNames: ["limit"],
      registers: [options.registry],
    });
  }

  enter(
    caller: Pick<Caller, "keyHash" | "rateLimits">,
    limited: LimitedUse = newTurnUse,
  ): Admission | Promise<Admission> {
    const limits = limitsOf(caller, this.#options.config());
    const use = this.#uses.of(caller.keyHash, performance.now());
    const isLimited = limited.turn || hasRate(limits);
    if (!this.#shared?.up || !isLimited) return this.#enterOffline(caller.keyHash, use, limits, limited);
    // `pending` keeps the entry from being swept as unused before the turn is begun or refused.
    use.pending++;
    return this.#shared.enter(caller.keyHash, use, limits, limited).then(
      (decision) => {
        use.pending--;
        return this.#admission(caller.keyHash, use, limits, limited, decision);
      },
      (error: unknown) => {
        use.pending--;
        return this.#enterOffline(caller.keyHash, use, limits, limited, error);
      },
    );
  }

  /**
   * Enters a turn into the limits of all rows, or of none. All rows belong to one caller.
   * @returns without a promise when this process counts by itself
   */
  enterModels(rows: readonly ModelLimitRow[]): JointAdmission | Promise<JointAdmission> {
    const all = this.#uses.ofAll(rows, performance.now());
    const shared = this.#shared;
    if (!shared?.up) return this.#enterModelsOffline(rows, all);
    for (const { use } of all) use.pending++;
    return shared.enterJointly(all, newTurnUse).then(
      (decision) => {
        for (const { use } of all) use.pending--;
        return this.#jointAdmission(rows, all, decision);
      },
      (error: unknown) => {
        for (const { use } of all) use.pending--;
        return this.#enterModelsOffline(rows, all, error);
      },
    );
  }

  /** Enters a turn by counting in this process. @param error with which the call to Redis failed, if it was tried */
  #enterModelsOffline(rows: readonly ModelLimitRow[], all: readonly CountedLimits[], error?: unknown): JointAdmission {
    const now = performance.now();
    for (const { use } of all) this.#shared?.offline(use, now);
    const decision = decideJointly(all, newTurnUse, this.#shared?.share ?? 1, now);
    if (decision.refusedBy === undefined) this.#owe(all, oweRequest, error);
    return this.#jointAdmission(rows, all, decision);
  }

  /**
   * Adds use that Redis will learn when it is available again. If Redis may still run a late call, its answer decides
   * whether that counted the use already.
   * @param owe adds the use of one of the limits
   * @param error of the call to Redis
   */
  #owe(all: readonly CountedLimits[], owe: OweUse, error: unknown): void {
    const shared = this.#shared;
    if (shared === undefined) return;
    const add = () => {
      const now = performance.now();
      // Entries are looked up again, because they may have been swept while Redis was awaited.
      for (const [index, { use, limits }] of this.#uses.ofAll(all, now).entries())
        owe(shared.offline(use, now), limits, now, index);
    };
    const outcome = lateOutcome(error);
    if (outcome === undefined) add();
    else void outcome.then((known) => known === "counted" || add());
  }

  #jointAdmission(
    rows: readonly ModelLimitRow[],
    all: readonly CountedLimits[],
    decision: JointDecision,
  ): JointAdmission {
    if (decision.refusedBy === undefined) {
      for (const { use } of all) use.open++;
      return new JointAdmission(rows, decision, (ends, left) =>
        this.#settleJointly(left ? left.map((index) => all[index] as CountedLimits) : all, ends),
      );
    }
    this.#refusedModels.labels({ limit: decision.refusedBy }).inc();
    const now = performance.now();
    for (const { id, use } of all) this.#uses.release(id, use, now);
    return new JointAdmission(rows, decision);
  }

  #settleJointly(all: readonly CountedLimits[], ends: readonly TurnEnd[]): void {
    const now = performance.now();
    for (const { use } of all) use.open--;
    if (this.#shared?.up)
      void this.#shared.leaveJointly(all, ends).catch((error: unknown) => this.#chargeJointly(all, ends, error));
    else this.#chargeJointly(all, ends);
    for (const { id, use } of all) this.#uses.release(id, use, now);
  }

  /**
   * Charges use in this process, which reports it to Redis later. @param error with which the call to Redis failed, if
   * it was tried
   */
  #chargeJointly(rows: readonly CountedLimits[], ends: readonly TurnEnd[], error?: unknown): void {
    const now = performance.now();
    const share = this.#shared?.share ?? 1;
    // Entries are looked up again, because they may have been swept while Redis was awaited.
    for (const [index, { use, limits }] of this.#uses.ofAll(rows, now).entries()) {
      this.#shared?.offline(use, now);
      charge(use, limits, ends[index] ?? nothingUsed, share, now);
    }
    this.#owe(rows, (use, limits, at, index) => charge(use, limits, ends[index] ?? nothingUsed, 1, at), error);
  }

  async stop(): Promise<void> {
    await this.#shared?.stop();
  }

  /** Admits a request by counting in this process. @param error with which the call to Redis failed, if it was tried */
  #enterOffline(keyHash: string, use: KeyUse, limits: KeyLimits, limited: LimitedUse, error?: unknown): Admission {
    const now = performance.now();
    this.#shared?.offline(use, now);
    const decision = decideLocally(use, limits, limited, this.#shared?.share ?? 1, now);
    if (decision.refusedBy === undefined && limited.request)
      this.#owe([{ id: keyHash, use, limits }], oweRequest, error);
    return this.#admission(keyHash, use, limits, limited, decision);
  }

  #admission(
    keyHash: string,
    use: KeyUse,
    limits: KeyLimits,
    limited: LimitedUse,
    { refusedBy, ahead }: Decision,
  ): Admission {
    const headers = rateLimitHeaders(limits, ahead);
    if (refusedBy === undefined) return this.#entered(keyHash, use, limits, limited, headers);
    this.#refused.labels({ limit: refusedBy }).inc();
    this.#uses.release(keyHash, use, performance.now());
    const { why, retryAfterMs } = refusalOf(refusedBy, ahead, limits);
    const refusal = new Fault(FaultReason.RATE_LIMITED, `Rate limit exceeded: ${why}`, {
      retryAfterMs,
      origin: this.#options.origin,
      metadata: { error_type: "rate_limit_exceeded" },
    });
    return new Admission(refusal, headers, false);
  }

  #entered(
    keyHash: string,
    use: KeyUse,
    limits: KeyLimits,
    limited: LimitedUse,
    headers: Admission["headers"],
  ): Admission {
    const turns = Number(limited.turn);
    use.open += turns;
    this.open += turns;
    // No running turn refers to the entry any more.
    if (turns === 0) this.#uses.release(keyHash, use, performance.now());
    return new Admission(undefined, headers, limits.tokensPerMinute !== undefined, (tokens) => {
      use.open -= turns;
      this.open -= turns;
      this.#settle(keyHash, use, limits, tokens, turns);
    });
  }

  #settle(keyHash: string, use: KeyUse, limits: KeyLimits, tokens: number, turns: number): void {
    if (!this.#shared?.up) this.#charge(keyHash, limits, tokens);
    else if (turns > 0 || tokens > 0) {
      const left = this.#shared.leave(keyHash, use, limits, tokens, turns);
      void left.catch((error: unknown) => this.#charge(keyHash, limits, tokens, error));
    }
    this.#uses.release(keyHash, use, performance.now());
  }

  /** Charges the use of a key in this process; see `#chargeJointly`. */
  #charge(keyHash: string, limits: KeyLimits, tokens: number, error?: unknown): void {
    const now = performance.now();
    // The entry is looked up again, because it may have been swept while Redis was awaited.
    const use = this.#uses.of(keyHash, now);
    this.#shared?.offline(use, now);
    if (limits.tokensPerMinute === undefined) return;
    const end = { tokens, isUnused: false };
    charge(use, limits, end, this.#shared?.share ?? 1, now);
    this.#owe([{ id: keyHash, use, limits }], (owed, _, at) => charge(owed, limits, end, 1, at), error);
  }
}

/** Adds the use of one limit to the use that Redis does not know yet. */
type OweUse = (use: OfflineUse, limits: KeyLimits, now: number, index: number) => void;

function oweRequest(use: OfflineUse, limits: KeyLimits, now: number): void {
  use.follow(limits, now);
  use.takeRequest(limits, 1, now);
}
