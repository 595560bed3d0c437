/** Whether a key may ask now: the one place where requests, tokens and open turns are counted, for HTTP and for gRPC. */
import type { Caller } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import { Fault, FaultOrigin, FaultReason } from "../fault.ts";
import { Counter, type Registry } from "../metrics.ts";
import { type Ask, type Decision, type RateLimitHeaders, hasRate, headersOf, openTurn, refusalOf } from "./decision.ts";
import { type KeyUse, KeyUses, charge, decide } from "./local.ts";
import { SharedLimits, type SharedOptions } from "./shared.ts";
import { type HouseLimits, type KeyLimits, limitsOf } from "./settings.ts";

export interface LimiterOptions {
  /** In force now. */
  readonly house: () => HouseLimits;
  readonly origin: FaultOrigin.GATEWAY | FaultOrigin.INFERENCE;
  readonly registry: Registry;
  /** Absent: this process counts by itself. */
  readonly shared?: SharedOptions | undefined;
}

export interface Admission {
  /** RATE_LIMITED; undefined when the key may go on. */
  readonly refusal: Fault | undefined;
  /** For the answer, whatever it is; undefined when the key has no limit by the minute. */
  readonly headers: RateLimitHeaders | undefined;
  /** Whether somebody has to count tokens. */
  readonly countsTokens: boolean;
  /**
   * Lets the turn go, if one was opened. Only the first call counts.
   * @param tokens that were used, of input and output
   */
  readonly leave: (tokens?: number) => void;
}

export class Limiter {
  readonly #options: LimiterOptions;
  readonly #uses = new KeyUses();
  readonly #shared: SharedLimits | undefined;
  readonly #refused: Counter<"limit">;
  /** Turns that are open. */
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
  }

  enter(caller: Pick<Caller, "keyHash" | "rateLimits">, ask: Ask = openTurn): Admission | Promise<Admission> {
    const limits = limitsOf(caller, this.#options.house());
    const use = this.#uses.of(caller.keyHash, performance.now());
    const asks = ask.turn || hasRate(limits);
    if (!this.#shared?.up || !asks) return this.#enterAlone(caller.keyHash, use, limits, ask);
    return this.#shared.enter(caller.keyHash, use, limits, ask).then(
      (decision) => this.#admission(caller.keyHash, use, limits, ask, decision),
      () => this.#enterAlone(caller.keyHash, use, limits, ask),
    );
  }

  async stop(): Promise<void> {
    await this.#shared?.stop();
  }

  #enterAlone(keyHash: string, use: KeyUse, limits: KeyLimits, ask: Ask): Admission {
    const now = performance.now();
    this.#shared?.alone(use, now);
    return this.#admission(keyHash, use, limits, ask, decide(use, limits, ask, this.#shared?.share ?? 1, now));
  }

  #admission(keyHash: string, use: KeyUse, limits: KeyLimits, ask: Ask, { refusedBy, ahead }: Decision): Admission {
    const headers = headersOf(limits, ahead);
    if (refusedBy === undefined) return this.#entered(keyHash, use, limits, ask, headers);
    this.#refused.inc({ limit: refusedBy });
    this.#uses.release(keyHash, use, performance.now());
    const { why, retryAfterMs } = refusalOf(refusedBy, ahead, limits);
    const refusal = new Fault(FaultReason.RATE_LIMITED, `Rate limit exceeded: ${why}`, {
      retryAfterMs,
      origin: this.#options.origin,
      metadata: { error_type: "rate_limit_exceeded" },
    });
    return { refusal, headers, countsTokens: false, leave: () => {} };
  }

  #entered(keyHash: string, use: KeyUse, limits: KeyLimits, ask: Ask, headers: Admission["headers"]): Admission {
    const turns = Number(ask.turn);
    use.open += turns;
    this.open += turns;
    let over = false;
    const leave = (tokens = 0) => {
      if (over) return;
      over = true;
      use.open -= turns;
      this.open -= turns;
      this.#settle(keyHash, use, limits, tokens, turns);
    };
    // Nobody holds anything of it any more.
    if (turns === 0) this.#uses.release(keyHash, use, performance.now());
    return { refusal: undefined, headers, countsTokens: limits.tokensPerMinute !== undefined, leave };
  }

  #settle(keyHash: string, use: KeyUse, limits: KeyLimits, tokens: number, turns: number): void {
    const now = performance.now();
    const shared = this.#shared;
    if (shared?.up) {
      if (turns > 0 || tokens > 0) shared.leave(keyHash, use, limits, tokens, turns);
    } else {
      shared?.alone(use, now);
      if (limits.tokensPerMinute !== undefined) {
        charge(use, limits.tokensPerMinute, tokens, shared?.share ?? 1, now);
      }
    }
    this.#uses.release(keyHash, use, now);
  }
}
