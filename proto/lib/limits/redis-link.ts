/**
 * The connection to Redis and its health: a call waits only a moment for it, and not at all while it is known to be down.
 *
 * A Redis that takes no writes counts as down: a replica, or a primary that has too few of them. After a failover the address leads to another server, while
 * a connection to the former primary may stay open, so such a connection is replaced.
 */
import { createHash } from "node:crypto";
import { Cluster, type Redis } from "ioredis";
import type { Logger } from "../log/log.ts";
import { Counter, type Registry, gauge } from "../metrics/metrics.ts";
import { inSlotOf } from "../redis/address.ts";
import { type RedisClient, closeRedis, isReady, openRedis } from "../redis/client.ts";
import { LateAnswerError } from "./late-answer.ts";

/** A step takes a fraction of a millisecond, so a silence of this length means a dead Redis. */
const silenceMs = 100;
/** Longest wait for one answer while others arrive. */
const stepLimitMs = 250;
const probeEveryMs = 250;

export interface ScriptCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

export interface RedisLinkOptions {
  readonly url: string;
  /** A writing step, used to test whether Redis is usable. */
  readonly probe: ScriptCall;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly registry: Registry;
  /** Called when Redis answers again. Its commands precede all later ones. */
  readonly returned: () => void;
}

export class RedisLink {
  readonly #client: RedisClient;
  readonly #options: RedisLinkOptions;
  readonly #losses: Counter;
  readonly #probe: NodeJS.Timeout;
  #up = false;
  /** Time of the last answer, by performance.now(). */
  #lastAnswerAt = 0;
  #probing = false;
  #readOnly = false;
  /** Key of the latest step that failed: in a Redis Cluster its server has to answer as well before the link is up. */
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
    // The replica of a lost primary may lack its last writes, so each process sends its whole use again.
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

  /** @throws when there is no answer in time; then the link counts as down. LateAnswerError when the step may still be run */
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
    // The end of the connection is no loss.
    this.#isLossLogged = true;
    closeRedis(this.#client);
  }

  /** @param isLate whether nobody waits any longer */
  async #evaluate({ script, keys, args }: ScriptCall, isLate: () => boolean): Promise<unknown> {
    try {
      return await this.#client.evalsha(digestOf(script), keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      // Run now, the script would count a use again that later scripts have already told Redis.
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

  /** Keeps a stalled event loop from looking like a silent Redis: answers received before a late timer are read first. */
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

  /** Logs the loss once, even when several commands fail. */
  #lost(error: unknown): void {
    if (this.#up) this.#losses.inc();
    this.#up = false;
    // Older servers name the refusal within the message.
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
