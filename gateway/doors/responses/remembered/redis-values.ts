/** Optional values in Redis, shared by all processes: a request waits for them only a moment. */
import { Redis } from "ioredis";
import type { Logger } from "@sluice/proto/lib/log/log.js";

const waitMs = 250;

const options = {
  // Commands are never queued: a request never waits for a connection.
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 1_000,
  retryStrategy: (attempt: number) => Math.min(1_000, 50 * attempt),
};

export class RedisValues {
  readonly #client: Redis;
  readonly #log: Pick<Logger, "warn">;
  #isFailing = false;

  readonly #loss: string;

  /** @param loss log message when Redis stops answering */
  constructor(url: string, log: Pick<Logger, "warn">, loss: string) {
    this.#log = log;
    this.#loss = loss;
    this.#client = new Redis(url, options);
    this.#client.on("error", (error) => this.#failed(error));
    this.#client.on("ready", () => (this.#isFailing = false));
  }

  set(name: string, value: Buffer, ttlMs: number): void {
    this.#client.set(name, value, "PX", ttlMs).catch((error: unknown) => this.#failed(error));
  }

  /** @returns a value for each name; undefined for a missing value, and for all when Redis does not answer in time */
  async get(names: readonly string[]): Promise<readonly (Buffer | undefined)[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer in ${waitMs} ms`)), waitMs);
    });
    try {
      const found = await Promise.race([this.#client.mgetBuffer(...names), late]);
      return found.map((value) => value ?? undefined);
    } catch (error) {
      this.#failed(error);
      return names.map(() => undefined);
    } finally {
      clearTimeout(timer);
    }
  }

  stop(): void {
    this.#client.disconnect();
  }

  /** Logs a loss once, even when several commands fail. */
  #failed(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#log.warn({ err: error }, this.#loss);
  }
}
