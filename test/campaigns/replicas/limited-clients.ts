/** Keys with request limits that all gateways count together in Redis, and the number of admitted requests. */
import { setTimeout as wait } from "node:timers/promises";
import type { ReplicaAdministrator } from "./administrator.ts";
import type { ReplicaCluster } from "./cluster.ts";

/** Limit in requests per minute of keys that send more. */
const limit = 12;
/** Number of requests at each gateway at the same time. */
const width = 10;
/**
 * Limit in requests per minute of the steady client: large enough for the small part of it that a process has when it counts without Redis while
 * killed processes still count.
 */
const plenty = 60_000;
const steadyEveryMs = 100;
const pauseMs = 200;
/** Number of waves of requests with a key, some while Redis is unreachable and some after its return. */
const waves = 8;
/** Requests that all processes together may admit while Redis is gone, as a multiple of the limit, in addition to those counted in Redis. */
const withoutRedis = 1.2;
const sharedLimitMs = 60_000;

export class LimitedClients {
  /** Keys that were admitted more requests than permitted. */
  readonly overshot: string[] = [];
  /** Requests refused although their key was far below its limit. */
  readonly refused: string[] = [];
  admitted = 0;
  readonly #cluster: ReplicaCluster;
  readonly #administrator: ReplicaAdministrator;
  /** Number of gateway starts at the time when all gateways were last seen to count together. */
  #startsWhenShared = 0;

  constructor(cluster: ReplicaCluster, administrator: ReplicaAdministrator) {
    this.#cluster = cluster;
    this.#administrator = administrator;
  }

  /** Sends requests at a steady pace with a key far below its limit; none may be refused. */
  async askSteadily(over: () => boolean): Promise<void> {
    const key = await this.#makeKey(plenty);
    for (let n = 0; !over(); n++) {
      const status = await this.#ask(key, n % this.#cluster.gateways.length);
      if (status === 429) this.refused.push(`request ${n}`);
      await wait(steadyEveryMs);
    }
  }

  /**
   * Uses up the limits of keys at all gateways, during any fault. A gateway that starts without Redis knows of no other process, and admits a whole
   * limit.
   */
  async useUp(over: () => boolean): Promise<void> {
    while (!over()) {
      const startsBefore = this.#startsWhenShared;
      const key = await this.#makeKey(limit);
      const began = performance.now();
      let admitted = 0;
      for (let wave = 0; wave < waves && !over(); wave++) {
        admitted += await this.#wave(key);
        await wait(pauseMs);
      }
      const alone = withoutRedis + this.#starts - startsBefore;
      this.#judge(admitted, (1 + alone) * refilled(began), "while processes counted alone");
    }
  }

  /** Waits until all gateways count together, as shown by a key with exactly its limit admitted. */
  async untilHeld(): Promise<void> {
    const latest = performance.now() + sharedLimitMs;
    for (;;) {
      const before = await this.#losses();
      if (performance.now() > latest) return void this.overshot.push("not all gateways came to count together again");
      if (before === undefined) {
        await wait(20);
        continue;
      }
      this.#startsWhenShared = this.#starts;
      const key = await this.#makeKey(limit);
      const began = performance.now();
      const admitted = await this.#wave(key);
      // A busy machine may have separated a gateway from Redis meanwhile, so the result proves nothing.
      if ((await this.#losses()) !== before) continue;
      return this.#judge(admitted, refilled(began), "while all counted together");
    }
  }

  get #starts(): number {
    return this.#cluster.gateways.reduce((sum, { starts }) => sum + starts, 0);
  }

  #judge(admitted: number, most: number, when: string): void {
    this.admitted += admitted;
    if (admitted > most) this.overshot.push(`${admitted} requests with a limit of ${limit}, at most ${most} ${when}`);
  }

  /** Sends more requests than the limit permits. @returns the number of admitted ones */
  async #wave(key: string): Promise<number> {
    const gateways = [...this.#cluster.gateways.keys()];
    const asked = gateways.flatMap((gateway) => Array.from({ length: width }, () => this.#ask(key, gateway)));
    return (await Promise.all(asked)).filter((status) => status === 200).length;
  }

  async #ask(key: string, gateway: number): Promise<number> {
    try {
      const answer = await fetch(`${this.#cluster.baseUrl(gateway)}/models/count`, {
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.timeout(30_000),
      });
      await answer.arrayBuffer();
      return answer.status;
    } catch {
      return 0;
    }
  }

  async #makeKey(requests: number): Promise<string> {
    for (;;) {
      const made = await this.#administrator.makeKey("limited", { requests_per_minute: requests });
      if (made) return made.key;
      await wait(20);
    }
  }

  /** How often each gateway has lost Redis; undefined while a gateway counts by itself or does not answer. */
  async #losses(): Promise<string | undefined> {
    const texts = await Promise.all(this.#cluster.gateways.map((gateway) => gateway.metrics().catch(() => "")));
    if (!texts.every((text) => /^sluice_limits_shared(?:\{\S*\})? 1$/m.test(text))) return undefined;
    const losses = texts.map((text) => /^sluice_limits_redis_losses_total\S* (\S+)$/m.exec(text)?.[1]);
    return [this.#starts, ...losses].join();
  }
}

/** Requests admitted by a limit since `began`, with its refill each minute. */
const refilled = (began: number): number => Math.floor(limit * (1 + (performance.now() - began) / 60_000));
