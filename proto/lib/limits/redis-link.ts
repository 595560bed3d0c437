/**
 * The connection to Redis for rate limits, and its health: a call waits only briefly, and not at all while Redis is
 * known to be down.
 *
 * A Redis that refuses writes counts as down: a replica, or a primary with too few replicas. After a failover, the
 * address leads to another server while a connection to the former primary may stay open, so such a connection is
 * replaced.
 */
import { createHash } from "node:crypto";
import { Cluster, type Redis } from "ioredis";
import type { Logger } from "../log/log.ts";
import { Counter, type Registry, gauge } from "../metrics/metrics.ts";
import { inSlotOf } from "../redis/address.ts";
import { type RedisClient, closeRedis, isReady, openRedis } from "../redis/client.ts";
import { LateAnswerError } from "./late-answer.ts";

/** Silence in milliseconds after which Redis counts as down: a call takes it a fraction of a millisecond. */
const silenceMs = 100;
/** Maximum wait in milliseconds for one answer while other answers arrive. */
const stepLimitMs = 250;
const probeEveryMs = 250;

export interface ScriptCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

export interface RedisLinkOptions {
  readonly url: string;
  /** A call that writes, by which the link tests whether Redis is usable. */
  readonly probe: ScriptCall;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly registry: Registry;
  /** Called when Redis is available again. Commands sent in it precede all later ones. */
  readonly returned: () => void;
}

export class RedisLink {
  readonly #client: RedisClient;
  readonly #options: RedisLinkOptions;
  readonly #losses: Counter;
  readonly #probe: NodeJS.Timeout;
  #up = false;
  /** Time of the last answer by performance.now(). */
  #lastAnswerAt = 0;
  #probing = false;
  #readOnly = false;
  /**
   * Redis key of the latest call that failed. In a Redis Cluster, the server of this key must answer too before the
   * link counts as up.
   */
  #failedKey: string | undefined;
  #isLossLogged = false;

  constructor(linkOptions: RedisLinkOptions) {
    this.#options = linkOptions;
    const { url, registry } = linkOptions;
    this.#losses = new Counter({
      name: "sluice_limits_redis_losses_total",
      help: "Times that Redis stopped answering and this process counted limits alone.",
      registers: [registry],
    });
    gauge(
      registry,
      "sluice_limits_shared",
      "1 while limits are counted in Redis, 0 while this process counts alone.",
      () => Number(this.#up),
    );
    this.#client = openRedis(url);
    this.#client.on("error", (error) => this.#lost(error));
    // When a server leaves the cluster, its replica may lack the last writes, so each process sends its whole use
    // again.
    this.#client.on("-node", ({ options }: Redis) => {
      if (options.readOnly !== true) this.#lost(new Error("a server has left the cluster"));
    });
    this.#client.on("node error", (error) => this.#lost(error));
    this.#client.on("close", () => this.#lost(new Error("connection closed")));
    this.#client.on("ready", () => void this.#probeServer());
    this.#probe = setInterval(() => this.#look(), probeEveryMs);
    this.#probe.unref();
  }

  get up(): boolean {
    return this.#up;
  }

  /**
   * Runs a script. @throws Error when there is no answer in time, after which the link counts as down; LateAnswerError
   * when Redis may still run the script
   */
  async run(step: ScriptCall): Promise<unknown> {
    try {
      const answer = await this.#inTime(step);
      this.#lastAnswerAt = performance.now();
      return answer;
    } catch (error) {
      [this.#failedKey] = step.keys;
      this.#lost(error);
      throw error;
    }
  }

  stop(): void {
    clearInterval(this.#probe);
    // A connection closed on purpose is not logged as lost.
    this.#isLossLogged = true;
    closeRedis(this.#client);
  }

  /** @param isLate whether the caller no longer waits */
  async #evaluate({ script, keys, args }: ScriptCall, isLate: () => boolean): Promise<unknown> {
    try {
      return await this.#client.evalsha(digestOf(script), keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      // The script must not be run any more: its use may already have been reported to Redis in another way.
      if (isLate()) throw error;
      return this.#client.eval(script, keys.length, ...keys, ...args);
    }
  }

  #look(): void {
    if (!this.#readOnly) return void this.#probeServer();
    this.#readOnly = false;
    this.#client.disconnect(true);
  }

  async #probeServer(): Promise<void> {
    if (this.#up || this.#probing || !isReady(this.#client)) return;
    this.#probing = true;
    try {
      const { probe } = this.#options;
      await this.#inTime(probe);
      if (this.#failedKey !== undefined && this.#client instanceof Cluster)
        await this.#inTime({ ...probe, keys: [inSlotOf(this.#failedKey, "probe")] });
      this.#failedKey = undefined;
      this.#up = true;
      this.#isLossLogged = false;
      this.#options.log.info("limits are counted in Redis");
      this.#options.returned();
    } catch (error) {
      this.#lost(error);
    } finally {
      this.#probing = false;
    }
  }

  /**
   * Waits for the answer within the time limits. After a stall of the event loop, answers that have arrived are read
   * before the timer decides, so the stall is not mistaken for a silent Redis.
   */
  #inTime(step: ScriptCall): Promise<unknown> {
    let isLate = false;
    const answer = this.#evaluate(step, () => isLate);
    return new Promise((resolve, reject) => {
      const requestedAt = performance.now();
      const look = () => {
        const now = performance.now();
        const isSilent = now - Math.max(requestedAt, this.#lastAnswerAt) >= silenceMs - 1;
        isLate = isSilent || now - requestedAt >= stepLimitMs;
        if (isLate) reject(new LateAnswerError(`no answer in ${Math.round(now - requestedAt)} ms`, answer));
        else timer = setTimeout(() => setImmediate(look), silenceMs);
      };
      let timer = setTimeout(() => setImmediate(look), silenceMs);
      answer.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  /** Marks Redis as down, and logs that once even when several calls fail. */
  #lost(error: unknown): void {
    if (this.#up) this.#losses.inc();
    this.#up = false;
    // Older servers report the refusal only within the message.
    if (error instanceof Error && /READONLY|NOREPLICAS/.test(error.message)) this.#readOnly = true;
    if (this.#isLossLogged) return;
    this.#isLossLogged = true;
    this.#options.log.warn({ err: error }, "Redis does not answer: this process counts limits alone");
  }
}

const digests = new Map<string, string>();

function digestOf(script: string): string {
  let digest = digests.get(script);
  if (digest === undefined) digests.set(script, (digest = createHash("sha1").update(script).digest("hex")));
  return digest;
}
