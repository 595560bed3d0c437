/** The connection to Redis, and whether it can be relied on: nobody waits for it longer than a moment, and nobody at all once it is known to be gone. */
import { createHash } from "node:crypto";
import { Redis } from "ioredis";
import type { Logger } from "../log.ts";
import { Counter, type Registry, gauge } from "../metrics.ts";

/** A step takes a fraction of a millisecond: so long nothing at all comes when Redis is gone. */
const silenceMs = 100;
/** Of one answer, while others come. */
const stepLimitMs = 250;
const probeEveryMs = 250;
const mostBackoffMs = 1_000;

const options = {
  // What cannot be sent now is decided here now.
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 1_000,
  retryStrategy: (attempt: number) => Math.min(mostBackoffMs, 50 * attempt),
};

export interface RedisLinkOptions {
  readonly url: string;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly registry: Registry;
  /** Redis answers again. What is sent in it comes before all that follows. */
  readonly returned: () => void;
}

export class RedisLink {
  readonly #client: Redis;
  readonly #options: RedisLinkOptions;
  readonly #losses: Counter;
  readonly #probe: NodeJS.Timeout;
  #up = false;
  /** performance.now() of the last answer. */
  #heardAt = 0;
  #probing = false;
  #told = false;

  constructor(linkOptions: RedisLinkOptions) {
    this.#options = linkOptions;
    const { url, registry } = linkOptions;
    this.#losses = new Counter({
      name: "sluice_limits_redis_losses_total",
      help: "Times that Redis stopped answering and limits were counted by this process alone.",
      registers: [registry],
    });
    gauge(registry, "sluice_limits_shared", "1 while limits are counted in Redis, 0 while by this process alone.", () =>
      Number(this.#up),
    );
    this.#client = new Redis(url, options);
    this.#client.on("error", (error) => this.#lost(error));
    this.#client.on("close", () => this.#lost(new Error("connection closed")));
    this.#client.on("ready", () => void this.#ask());
    this.#probe = setInterval(() => void this.#ask(), probeEveryMs);
    this.#probe.unref();
  }

  get up(): boolean {
    return this.#up;
  }

  /** @throws when there is no answer in time; then the link is down */
  async run(script: string, key: string, args: readonly (string | number)[]): Promise<unknown> {
    try {
      const answer = await this.#inTime(this.#evaluate(script, key, args));
      this.#heardAt = performance.now();
      return answer;
    } catch (error) {
      this.#lost(error);
      throw error;
    }
  }

  stop(): void {
    clearInterval(this.#probe);
    this.#client.disconnect();
  }

  async #evaluate(script: string, key: string, args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await this.#client.evalsha(digestOf(script), 1, key, ...args);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return this.#client.eval(script, 1, key, ...args);
    }
  }

  async #ask(): Promise<void> {
    if (this.#up || this.#probing || this.#client.status !== "ready") return;
    this.#probing = true;
    try {
      await this.#inTime(this.#client.ping());
      this.#up = true;
      this.#told = false;
      this.#options.log.info("limits are counted in Redis");
      this.#options.returned();
    } catch (error) {
      this.#lost(error);
    } finally {
      this.#probing = false;
    }
  }

  /** A stalled event loop is not mistaken for a silent Redis: what has come by the time the timer is late is looked at first. */
  #inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const askedAt = performance.now();
      const look = () => {
        const now = performance.now();
        const isSilent = now - Math.max(askedAt, this.#heardAt) >= silenceMs - 1;
        if (isSilent || now - askedAt >= stepLimitMs) reject(new Error(`no answer in ${Math.round(now - askedAt)} ms`));
        else timer = setTimeout(() => setImmediate(look), silenceMs);
      };
      let timer = setTimeout(() => setImmediate(look), silenceMs);
      answer.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  /** Said once, however often it is tried. */
  #lost(error: unknown): void {
    if (this.#up) this.#losses.inc();
    this.#up = false;
    if (this.#told) return;
    this.#told = true;
    this.#options.log.warn({ err: error }, "Redis does not answer: limits are counted by this process alone");
  }
}

const digests = new Map<string, string>();

function digestOf(script: string): string {
  let digest = digests.get(script);
  if (digest === undefined) digests.set(script, (digest = createHash("sha1").update(script).digest("hex")));
  return digest;
}
