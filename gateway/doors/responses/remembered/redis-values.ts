/** Optional values in Redis, shared by all processes. A request waits for them only briefly, and continues without them. */
import { Redis } from "ioredis";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { type RedisClient, closeRedis, openRedis } from "@sluice/proto/lib/redis/client.js";

const waitMs = 250;

export class RedisValues {
  readonly #client: RedisClient;
  readonly #log: Pick<Logger, "warn">;
  #isFailing = false;

  readonly #loss: string;

  /** @param loss log message for the moment when Redis stops answering */
  constructor(url: string, log: Pick<Logger, "warn">, loss: string) {
    this.#log = log;
    this.#loss = loss;
    this.#client = openRedis(url);
    this.#client.on("error", (error) => this.#failed(error));
    this.#client.on("ready", () => (this.#isFailing = false));
  }

  set(name: string, value: Buffer, ttlMs: number): void {
    this.#client.set(name, value, "PX", ttlMs).catch((error: unknown) => this.#failed(error));
  }

  /** @returns a value for each name; undefined for a missing value, and for all names if Redis does not answer in time */
  async get(names: readonly string[]): Promise<readonly (Buffer | undefined)[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer in ${waitMs} ms`)), waitMs);
    });
    try {
      const found = await Promise.race([this.#read(names), late]);
      return found.map((value) => value ?? undefined);
    } catch (error) {
      this.#failed(error);
      return names.map(() => undefined);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Reads several names. In a Redis Cluster they are in different slots, so each name takes a command of its own. */
  #read(names: readonly string[]): Promise<(Buffer | null)[]> {
    const client = this.#client;
    if (client instanceof Redis) return client.mgetBuffer(...names);
    return Promise.all(names.map((name) => client.getBuffer(name)));
  }

  stop(): void {
    closeRedis(this.#client);
  }

  /** Logs an outage once, even when several commands fail. */
  #failed(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#log.warn({ err: error }, this.#loss);
  }
}
