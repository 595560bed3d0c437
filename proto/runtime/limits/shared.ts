/** The limits of keys as all processes count them together, in Redis. */
import type { Logger } from "../log.ts";
import { type Registry, gauge } from "../metrics.ts";
import type { Ask, Decision, LimitName } from "./decision.ts";
import { Alone, type KeyUse, type KeyUses } from "./local.ts";
import { RedisLink } from "./redis-link.ts";
import { scripts } from "./scripts.ts";
import type { KeyLimits } from "./settings.ts";

/** How often a process says which turns it has open, and how long that is believed. */
const sayEveryMs = 5_000;
const leaseMs = 15_000;
/** Of its part of a limit, what a process alone gives out: the parts are seldom used alike. */
const slack = 1.2;

export interface SharedOptions {
  readonly url: string;
  /** Of this process, unique among live ones. */
  readonly process: string;
  /** Of processes that share the load with this one. */
  readonly kind: "gateway" | "inference-svc";
  readonly log: Pick<Logger, "info" | "warn">;
  readonly registry: Registry;
}

export class SharedLimits {
  readonly #options: SharedOptions;
  readonly #uses: KeyUses;
  readonly #link: RedisLink;
  readonly #timer: NodeJS.Timeout;
  #processes = 1;

  /** @param uses what this process knows; kept up with what Redis says */
  constructor(options: SharedOptions, uses: KeyUses) {
    this.#options = options;
    this.#uses = uses;
    const { url, log, registry } = options;
    this.#link = new RedisLink({ url, log, registry, returned: () => this.#say() });
    gauge(
      registry,
      "sluice_limits_processes",
      "Processes, with this one, that share the limits of keys while Redis cannot be asked.",
      () => this.#processes,
    );
    this.#timer = setInterval(() => {
      if (this.#link.up) this.#say();
    }, sayEveryMs);
    this.#timer.unref();
  }

  get up(): boolean {
    return this.#link.up;
  }

  /** Of every limit, while Redis cannot be asked. */
  get share(): number {
    return Math.min(1, slack / this.#processes);
  }

  /** @throws when Redis does not answer */
  async enter(keyHash: string, use: KeyUse, limits: KeyLimits, ask: Ask): Promise<Decision> {
    const { requestsPerMinute = 0, tokensPerMinute = 0, concurrentRequests } = limits;
    const asked = [Number(ask.request), Number(ask.turn)];
    use.pending++;
    try {
      return await this.#step(scripts.enter, keyHash, use, [
        requestsPerMinute,
        ask.tokens ? tokensPerMinute : 0,
        concurrentRequests,
        ...asked,
      ]);
    } finally {
      use.pending--;
    }
  }

  leave(keyHash: string, use: KeyUse, { tokensPerMinute = 0 }: KeyLimits, tokens: number, turns: number): void {
    // What is lost on the way is said again with the next count.
    void this.#step(scripts.leave, keyHash, use, [turns, tokens, tokensPerMinute]).catch(() => {});
  }

  /** Notes that this process goes on without Redis, before anything is given out. */
  alone(use: KeyUse, now: number): void {
    use.alone ??= new Alone(use.ahead(now));
  }

  /** The others need not share with this process any longer. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#link.up) await this.#present(0).catch(() => {});
    this.#link.stop();
  }

  /** Sent at once, so that it comes before whatever is asked next. */
  #say(): void {
    const now = performance.now();
    for (const [keyHash, use] of this.#uses) {
      const { alone } = use;
      if (use.open === 0 && use.pending === 0 && !alone) continue;
      const { requestsMs, tokensMs } = alone?.heard ?? use.ahead(now);
      const owed = [alone?.requests.aheadMs(now) ?? 0, alone?.tokens.aheadMs(now) ?? 0] as const;
      use.alone = undefined;
      const args = [use.open + use.pending, requestsMs, owed[0], tokensMs, owed[1]];
      void this.#step(scripts.restore, keyHash, use, args).catch(() => {});
    }
    void this.#present(leaseMs).catch(() => {});
  }

  async #present(forMs: number): Promise<void> {
    const { kind, process } = this.#options;
    const count = await this.#link.run(scripts.present, `sluice:limits:processes:${kind}`, [process, forMs]);
    this.#processes = Math.max(1, Number(count));
  }

  async #step(script: string, keyHash: string, use: KeyUse, args: readonly number[]): Promise<Decision> {
    const reply = await this.#link.run(script, `sluice:limits:key:${keyHash}`, [
      this.#options.process,
      leaseMs,
      ...args,
    ]);
    const [refusedBy, requestsMs, tokensMs] = reply as [string, string, string];
    const ahead = { requestsMs: Number(requestsMs), tokensMs: Number(tokensMs) };
    const now = performance.now();
    use.requests.set(ahead.requestsMs, now);
    use.tokens.set(ahead.tokensMs, now);
    return { refusedBy: refusedBy === "" ? undefined : (refusedBy as LimitName), ahead };
  }
}
