/** A Redis with a replica. The primary can be killed, replaced by its replica, or made the replica of its replica while it runs. */
import { eventually } from "../../support/processes.ts";
import { RedisServer, hasRedisServer } from "../../support/redis-server.ts";
import { freePorts } from "../../support/runner/free-ports.ts";

export class RedisPair {
  #primary: RedisServer;
  #replica: RedisServer;

  private constructor(primary: RedisServer, replica: RedisServer) {
    this.#primary = primary;
    this.#replica = replica;
  }

  /** @returns undefined if the machine has no redis-server */
  static async start(folder: string): Promise<RedisPair | undefined> {
    if (!(await hasRedisServer())) return undefined;
    const [one, other] = (await freePorts(2)).map((port) => new RedisServer(port, folder));
    const pair = new RedisPair(one as RedisServer, other as RedisServer);
    await pair.#primary.start();
    await pair.#follow();
    return pair;
  }

  /** Port of the server that accepts writes. */
  get port(): number {
    return this.#primary.port;
  }

  /** Kills the primary, and starts it again after a pause, without its data. */
  async crash(pause: () => Promise<unknown>): Promise<void> {
    await this.#primary.kill();
    await pause();
    await this.#primary.start();
    await this.#replica.untilFollowing();
  }

  /** Kills the primary, and makes the replica the primary after a pause. @param moved called as soon as writes are possible */
  async failOver(pause: () => Promise<unknown>, moved: () => void): Promise<void> {
    await this.#primary.kill();
    await pause();
    await this.#replica.send("replicaof", "no", "one");
    this.#swap();
    moved();
    await this.#follow();
  }

  /** Swaps the roles of the two servers without losing data. Connections to the former primary stay open. */
  async handOver(moved: () => void): Promise<void> {
    await this.#primary.send("failover");
    await eventually(async () => /^role:master\r$/m.test(await this.#replica.send("info", "replication")));
    this.#swap();
    moved();
    await this.#replica.untilFollowing();
  }

  async stop(): Promise<void> {
    await this.#replica.kill();
    await this.#primary.kill();
  }

  #swap(): void {
    [this.#primary, this.#replica] = [this.#replica, this.#primary];
  }

  /** Starts the replica. */
  async #follow(): Promise<void> {
    await this.#replica.start();
    await this.#replica.follow(this.#primary);
  }
}
