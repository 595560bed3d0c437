/** A pool of connections to one provider: one request at a time on each, the most recently used first. */
import { cacheLookups } from "./dns-cache.ts";
import { Connection, type ConnectionOwner, type ConnectionSettings } from "./http/connection.ts";
import { Dialer } from "./http/dial.ts";
import { Egress } from "./egress.ts";

/** uvicorn, used by most self-hosted servers, silently closes idle connections after 5 s. */
const keepAliveMs = 4_000;
/** Servers that announce a keep-alive time count from another moment than Sluice. */
const keepAliveMarginMs = 2_000;
const maxKeepAliveMs = 600_000;
/** Interval for closing connections idle for too long. */
const sweepMs = 500;

/** Shared by the whole process, so a configuration reload keeps the cache. */
const lookup = cacheLookups();
/** Shared by the whole process, because its name server and its network are. */
export const sharedEgress = new Egress();

export class Connections implements ConnectionOwner {
  readonly #settings: ConnectionSettings;
  readonly #all = new Set<Connection>();
  /** The last released connection is at the end. */
  readonly #idle: Connection[] = [];
  #isSweeping = false;
  #isRetired = false;
  /** Called when no connection is left. */
  readonly #waiting: (() => void)[] = [];

  constructor(origin: string, connectMs: number) {
    this.#settings = { dialer: new Dialer(new URL(origin), lookup), connectMs, owner: this, egress: sharedEgress };
  }

  /** A connection for one request. */
  take(): Connection {
    const now = performance.now();
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.idleUntilMs > now) return idle;
      idle.close();
    }
    const connection = new Connection(this.#settings);
    this.#all.add(connection);
    return connection;
  }

  released(connection: Connection, keepAliveSeconds: number): void {
    const idleMs =
      keepAliveSeconds === Number.POSITIVE_INFINITY
        ? keepAliveMs
        : Math.min(keepAliveSeconds * 1_000 - keepAliveMarginMs, maxKeepAliveMs);
    if (this.#isRetired || idleMs <= 0) return connection.close();
    connection.idleUntilMs = performance.now() + idleMs;
    this.#idle.push(connection);
    if (!this.#isSweeping) this.#sweepLater();
  }

  #sweepLater(): void {
    this.#isSweeping = true;
    setTimeout(this.#sweep, sweepMs).unref();
  }

  readonly #sweep = (): void => {
    this.#isSweeping = false;
    const now = performance.now();
    for (const connection of this.#idle.filter(({ idleUntilMs }) => idleUntilMs <= now)) connection.close();
    if (this.#idle.length > 0) this.#sweepLater();
  };

  closed(connection: Connection): void {
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    this.#all.delete(connection);
    if (this.#all.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Stops the pool: running requests finish, and no connection is kept. */
  retire(): void {
    this.#isRetired = true;
    for (const connection of this.#idle.slice()) connection.close();
  }

  /** Waits for running requests. */
  close(): Promise<void> {
    this.retire();
    return new Promise((resolve) => {
      if (this.#all.size === 0) resolve();
      else this.#waiting.push(resolve);
    });
  }
}
