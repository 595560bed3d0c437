/** A pool of connections to one provider, each for one request at a time. The connection used last is taken first. */
import { cacheLookups } from "./dns-cache.ts";
import { Connection, type ConnectionOwner, type ConnectionSettings } from "./http/connection.ts";
import { Dialer } from "./http/dial.ts";
import { Egress } from "./egress.ts";

/**
 * Milliseconds for which an idle connection is kept. uvicorn, which most self-hosted servers use, silently closes idle
 * connections after 5 s.
 */
const keepAliveMs = 4_000;
/** Milliseconds subtracted from the keep-alive time a server announces, because it counts from another moment than Sluice. */
const keepAliveMarginMs = 2_000;
const maxKeepAliveMs = 600_000;
/** Milliseconds between searches for connections that are idle for too long. */
const sweepMs = 500;

/** DNS cache of the process, which outlives reloads of the configuration. */
const lookup = cacheLookups();
/** Reachability of servers from this process, whose name server and network all providers share. */
export const sharedEgress = new Egress();

export class Connections implements ConnectionOwner {
  readonly #settings: ConnectionSettings;
  readonly #all = new Set<Connection>();
  /** Idle connections; the one released last is at the end. */
  readonly #idle: Connection[] = [];
  #isSweeping = false;
  #isRetired = false;
  /** Functions called when no connection is left. */
  readonly #waiting: (() => void)[] = [];

  constructor(origin: string, connectMs: number) {
    this.#settings = { dialer: new Dialer(new URL(origin), lookup), connectMs, owner: this, egress: sharedEgress };
  }

  /** Takes a connection for one request. */
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

  /** Stops the pool: running requests finish, and no connection is kept afterwards. */
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
