/**
 * Reads the policy log on its own connection: when a notification arrives, every second, and after a reconnect.
 * Endpoint news from other admin-svc processes arrive on the same connection.
 */
import { Client } from "pg";
import { setTimeout as delay } from "node:timers/promises";
import { endpointChannel } from "../endpoint-news.ts";
import { Pause } from "../pause.ts";
import { policyChannel } from "../policy.ts";
import { type Role, beginSession, connection } from "./postgres.ts";

const pollMs = 1_000;
/**
 * Maximum number of log rows in a reading; if there are more, all caches are cleared, which is cheaper than naming the
 * keys.
 */
const maxRows = 1_000;
const limits = { connectTimeoutMs: 1_000, statementTimeoutMs: 1_000, lockTimeoutMs: 1_000 };

/** Entries of the policy log after generation `since`. */
export interface PolicyLogEntries {
  readonly since: bigint;
  /** The latest generation, from the same snapshot as the entries. */
  readonly current: bigint;
  readonly changes: readonly { readonly generation: bigint; readonly keyHashes: readonly string[] | null }[];
}

export interface PolicyListenerOptions {
  readonly databaseUrl: string;
  readonly role: Role;
  /** Returns the generation after which to read. */
  readonly since: () => bigint;
  readonly onReading: (reading: PolicyLogEntries) => void;
  /** Called with the payload of a notification. */
  readonly onNews: (payload: string) => void;
  readonly onLost: (error: unknown) => void;
}

export class PolicyListener {
  readonly #options: PolicyListenerOptions;
  #stopped = false;
  readonly #pause = new Pause(pollMs);
  #running: Promise<void> | undefined;

  constructor(options: PolicyListenerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Reads the log at once instead of at the next second. */
  poke(): void {
    this.#pause.poke();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.poke();
    await this.#running;
  }

  async #run(): Promise<void> {
    let backoffMs = 50;
    while (!this.#stopped) {
      try {
        await this.#session(() => (backoffMs = 50));
      } catch (error) {
        this.#options.onLost(error);
        await delay(backoffMs * (0.5 + Math.random()));
        backoffMs = Math.min(1_000, backoffMs * 2);
      }
    }
  }

  async #session(healthy: () => void): Promise<void> {
    const client = new Client(connection(this.#options.databaseUrl, limits));
    const lost = new Promise<never>((_, reject) => {
      client.on("error", reject);
      client.on("end", () => reject(new Error("Connection ended")));
    });
    lost.catch(() => {});
    client.on("notification", ({ channel, payload }) => {
      if (channel === endpointChannel) this.#options.onNews(payload ?? "");
      else if (BigInt(payload || "0") > this.#options.since()) this.poke();
    });
    try {
      await client.connect();
      await beginSession(client, limits, this.#options.role);
      await client.query(`listen ${policyChannel}; listen ${endpointChannel}`);
      while (!this.#stopped) {
        this.#pause.clear();
        await Promise.race([this.#read(client), lost]);
        healthy();
        await Promise.race([this.#pause.wait(), lost]);
      }
    } finally {
      // Closing the connection is limited in time, because a dead server never answers the closing message.
      await Promise.race([client.end().catch(() => {}), delay(500, undefined, { ref: false })]);
    }
  }

  async #read(client: Client): Promise<void> {
    const since = this.#options.since();
    const { rows } = await client.query<{ current: string; generation: string | null; key_hashes: string[] | null }>(
      `select p.generation as current, l.generation, l.key_hashes
         from policy_generation p left join policy_log l on l.generation > $1
        order by l.generation limit ${maxRows}`,
      [since],
    );
    const changes = rows.flatMap((row) =>
      row.generation === null ? [] : [{ generation: BigInt(row.generation), keyHashes: row.key_hashes }],
    );
    this.#options.onReading({ since, current: BigInt(rows[0]?.current ?? since), changes });
  }
}
