/** Keeps items in Redis, shared by all gateways. */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { RedisValues } from "./redis-values.ts";
import type { ItemStore } from "./item-store.ts";

const prefix = "sluice:item:";

export class RedisItems implements ItemStore {
  readonly #values: RedisValues;

  constructor(url: string, log: Pick<Logger, "warn">) {
    this.#values = new RedisValues(url, log, "Redis does not answer: no items of earlier answers are known");
  }

  put(_owner: string, name: string, sealed: Buffer, ttlMs: number): void {
    this.#values.set(prefix + name, sealed, ttlMs);
  }

  get(names: readonly string[]): Promise<readonly (Buffer | undefined)[]> {
    return this.#values.get(names.map((name) => prefix + name));
  }

  stop(): void {
    this.#values.stop();
  }
}
