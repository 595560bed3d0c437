/** Counts the limits of keys in Redis, for all processes together. */
import type { Logger } from "../log/log.ts";
import { type Registry, gauge } from "../metrics/metrics.ts";
import type { LimitedUse, Decision, LimitName } from "./decision.ts";
import { OfflineUse, type KeyUse, type KeyUses } from "./local.ts";
import { RedisLink, type ScriptCall } from "./redis-link.ts";
import { scripts } from "./scripts.ts";
import type { KeyLimits } from "./settings.ts";

/** Interval at which a process reports its open turns; a report stays valid for three intervals. */
const announceEveryMs = 5_000;
const leaseMs = 15_000;
/** Factor above the equal part of a limit for a process without Redis, because keys rarely use all processes equally. */
const slack = 1.2;

export interface SharedOptions {
  readonly url: string;
  /** Name of this process, unique among running processes. */
  readonly process: string;
  /** Kind of the processes among which the limits are divided while Redis is unreachable. */
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

  /** @param uses the local counts, kept up to date with answers of Redis */
  constructor(options: SharedOptions, uses: KeyUses) {
    this.#options = options;
    this.#uses = uses;
    const { url, log, registry } = options;
    this.#link = new RedisLink({
      url,
      probe: this.#presence(leaseMs),
      log,
      registry,
      returned: () => this.#announce(),
    });
    gauge(
      registry,
      "sluice_limits_processes",
      "Processes, including this one, that share the limits of keys while Redis is unreachable.",
      () => this.#processes,
    );
    this.#timer = setInterval(() => {
      if (this.#link.up) this.#announce();
    }, announceEveryMs);
    this.#timer.unref();
  }

  get up(): boolean {
    return this.#link.up;
  }

  /** Fraction of every limit available to this process while Redis is unreachable. */
  get share(): number {
    return Math.min(1, slack / this.#processes);
  }

  /** @throws when Redis does not answer */
  async enter(keyHash: string, use: KeyUse, limits: KeyLimits, limited: LimitedUse): Promise<Decision> {
    const { requestsPerMinute = 0, tokensPerMinute = 0, concurrentRequests } = limits;
    const flags = [Number(limited.request), Number(limited.turn)];
    use.pending++;
    try {
      return await this.#step(scripts.enter, keyHash, use, [
        requestsPerMinute,
        limited.tokens ? tokensPerMinute : 0,
        concurrentRequests,
        ...flags,
      ]);
    } finally {
      use.pending--;
    }
  }

  leave(keyHash: string, use: KeyUse, { tokensPerMinute = 0 }: KeyLimits, tokens: number, turns: number): void {
    // A lost message is included in the next count.
    void this.#step(scripts.leave, keyHash, use, [turns, tokens, tokensPerMinute]).catch(() => {});
  }

  /** Switches to local counting without Redis, before anything is admitted. */
  offline(use: KeyUse, now: number): void {
    use.offline ??= new OfflineUse(use.ahead(now));
  }

  /** Frees this process's part of the limits for the others. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#link.up) await this.#present(0).catch(() => {});
    this.#link.stop();
  }

  /** Sent at once, to precede all later commands. */
  #announce(): void {
    const now = performance.now();
    for (const [keyHash, use] of this.#uses) {
      const { offline } = use;
      if (use.open === 0 && use.pending === 0 && !offline) continue;
      const { requestsMs, tokensMs } = offline?.lastAnswer ?? use.ahead(now);
      const owed = [offline?.requests.aheadMs(now) ?? 0, offline?.tokens.aheadMs(now) ?? 0] as const;
      use.offline = undefined;
      const args = [use.open + use.pending, requestsMs, owed[0], tokensMs, owed[1]];
      void this.#step(scripts.restore, keyHash, use, args).catch(() => {});
    }
    void this.#present(leaseMs).catch(() => {});
  }

  async #present(forMs: number): Promise<void> {
    this.#processes = Math.max(1, Number(await this.#link.run(this.#presence(forMs))));
  }

  #presence(forMs: number): ScriptCall {
    const { kind, process } = this.#options;
    return { script: scripts.present, key: `sluice:limits:processes:${kind}`, args: [process, forMs] };
  }

  async #step(script: string, keyHash: string, use: KeyUse, args: readonly number[]): Promise<Decision> {
    const reply = await this.#link.run({
      script,
      key: `sluice:limits:key:${keyHash}`,
      args: [this.#options.process, leaseMs, ...args],
    });
    const [refusedBy, requestsMs, tokensMs] = reply as [string, string, string];
    const ahead = { requestsMs: Number(requestsMs), tokensMs: Number(tokensMs) };
    const now = performance.now();
    use.requests.set(ahead.requestsMs, now);
    use.tokens.set(ahead.tokensMs, now);
    return { refusedBy: refusedBy === "" ? undefined : (refusedBy as LimitName), ahead };
  }
}
