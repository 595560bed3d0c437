/**
 * A Redis with a replica, both without a file: a restarted server has forgotten everything. The primary can be killed, abandoned for its
 * replica, or made the replica of its replica while it runs.
 */
import { join } from "node:path";
import { endChild, spawnChild } from "@sluice/local/child.js";
import { Redis } from "ioredis";
import { freePorts } from "../../support/runner/free-ports.ts";
import { bareEnvironment, eventually, runProgram } from "../../support/processes.ts";

const program = "redis-server";
const host = "127.0.0.1";

interface Server {
  readonly port: number;
  /** Folder for the replica's received data, written to disk before it is loaded. */
  readonly folder: string;
  readonly log: string;
  running: Awaited<ReturnType<typeof spawnChild>> | undefined;
}

export class RedisPair {
  #primary: Server;
  #replica: Server;

  private constructor(primary: Server, replica: Server) {
    this.#primary = primary;
    this.#replica = replica;
  }

  /** @returns undefined where the machine has no redis-server */
  static async start(folder: string): Promise<RedisPair | undefined> {
    const isInstalled = await runProgram(program, ["--version"]).then(
      () => true,
      () => false,
    );
    if (!isInstalled) return undefined;
    const ports = await freePorts(2);
    const [one, other] = ports.map((port, n) => ({
      port,
      folder,
      log: join(folder, `redis-${n}.log`),
      running: undefined,
    }));
    const pair = new RedisPair(one as Server, other as Server);
    await startServer(pair.#primary);
    await pair.#follow();
    return pair;
  }

  /** Port of the writable server. */
  get port(): number {
    return this.#primary.port;
  }

  /** Kills the primary, and starts it again after a while, without its memory. */
  async crash(pause: () => Promise<unknown>): Promise<void> {
    await killServer(this.#primary);
    await pause();
    await startServer(this.#primary);
    await this.#untilFollowed();
  }

  /** Kills the primary and lets the replica take its place after a while. @param moved is called as soon as writes are possible */
  async failOver(pause: () => Promise<unknown>, moved: () => void): Promise<void> {
    await killServer(this.#primary);
    await pause();
    await sendRequest(this.#replica, "replicaof", "no", "one");
    this.#swap();
    moved();
    await this.#follow();
  }

  /** Swaps the two servers' roles without losing data. Connections to the former primary stay open. */
  async handOver(moved: () => void): Promise<void> {
    await sendRequest(this.#primary, "failover");
    await eventually(async () => /^role:master\r$/m.test(await sendRequest(this.#replica, "info", "replication")));
    this.#swap();
    moved();
    await this.#untilFollowed();
  }

  async stop(): Promise<void> {
    await killServer(this.#replica);
    await killServer(this.#primary);
  }

  #swap(): void {
    [this.#primary, this.#replica] = [this.#replica, this.#primary];
  }

  /** Starts the replica. */
  async #follow(): Promise<void> {
    await startServer(this.#replica);
    await sendRequest(this.#replica, "replicaof", host, String(this.#primary.port));
    await this.#untilFollowed();
  }

  #untilFollowed(): Promise<void> {
    return eventually(async () =>
      /^master_link_status:up\r$/m.test(await sendRequest(this.#replica, "info", "replication").catch(() => "")),
    );
  }
}

async function startServer(server: Server): Promise<void> {
  const { port, folder: dir, log } = server;
  const settings = {
    port,
    bind: host,
    dir,
    dbfilename: `${port}.rdb`,
    save: "",
    appendonly: "no",
    "repl-diskless-sync-delay": 0,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  server.running = await spawnChild(program, args, { log, environment: bareEnvironment(), whenOrphaned: "KILL" });
  await eventually(async () => (await sendRequest(server, "ping").catch(() => "")) === "PONG");
}

async function killServer({ running }: Server): Promise<void> {
  if (running) await endChild(running.child, running.exited, "SIGKILL", 0);
}

/** @returns the answer as text @throws when the server cannot be reached or refuses */
async function sendRequest({ port }: Server, command: string, ...args: readonly string[]): Promise<string> {
  const client = new Redis({ host, port, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return String(await client.call(command, ...args));
  } finally {
    client.disconnect();
  }
}
