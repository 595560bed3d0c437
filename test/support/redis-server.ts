/** Redis servers run by the machine's `redis-server`, without files: a restarted one has lost everything. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { endChild, spawnChild } from "@sluice/local/child.js";
import { Redis } from "ioredis";
import { bareEnvironment, eventually, runProgram } from "./processes.ts";

const program = "redis-server";
const host = "127.0.0.1";

/** Whether the machine has the program. */
export const hasRedisServer = (): Promise<boolean> =>
  runProgram(program, ["--version"]).then(
    () => true,
    () => false,
  );

export class RedisServer {
  readonly port: number;
  readonly #folder: string;
  #running: Awaited<ReturnType<typeof spawnChild>> | undefined;

  /** @param folder folder for the log, and for data that a replica receives, which are on disk before they are loaded */
  constructor(port: number, folder: string) {
    this.port = port;
    this.#folder = folder;
  }

  /** @param settings further settings */
  async start(settings: Readonly<Record<string, string | number>> = {}): Promise<void> {
    const { port } = this;
    const all = {
      port,
      bind: host,
      dir: this.#folder,
      dbfilename: `${port}.rdb`,
      save: "",
      appendonly: "no",
      "repl-diskless-sync-delay": 0,
      ...settings,
    };
    await this.#spawn(Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]));
  }

  /** Runs the server as the only Sentinel of a primary. @param name name of the primary */
  async watch(name: string, primary: RedisServer): Promise<void> {
    const file = join(this.#folder, `sentinel-${this.port}.conf`);
    const settings = [
      `port ${this.port}`,
      `bind ${host}`,
      `dir ${this.#folder}`,
      `sentinel monitor ${name} ${host} ${primary.port} 1`,
      `sentinel down-after-milliseconds ${name} 500`,
      `sentinel failover-timeout ${name} 2000`,
    ];
    writeFileSync(file, `${settings.join("\n")}\n`);
    await this.#spawn([file, "--sentinel"]);
  }

  async #spawn(args: readonly string[]): Promise<void> {
    const log = join(this.#folder, `redis-${this.port}.log`);
    this.#running = await spawnChild(program, args, { log, environment: bareEnvironment(), whenOrphaned: "KILL" });
    await eventually(async () => (await this.send("ping").catch(() => "")) === "PONG");
  }

  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (running) await endChild(running.child, running.exited, "SIGKILL", 0);
  }

  /** Pauses the server: connections stay open, and no command is answered. */
  hang(): void {
    this.#running?.child.kill("SIGSTOP");
  }

  /** @returns the answer as text @throws if the server cannot be reached or refuses the command */
  async send(command: string, ...args: readonly (string | number)[]): Promise<string> {
    const client = new Redis({
      host,
      port: this.port,
      lazyConnect: true,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
    });
    client.on("error", () => undefined);
    try {
      await client.connect();
      return String(await client.call(command, ...args));
    } finally {
      client.disconnect();
    }
  }

  /** Makes the server the replica of another one, and waits until it has the data. */
  async follow(primary: RedisServer): Promise<void> {
    await this.send("replicaof", host, primary.port);
    await this.untilFollowing();
  }

  untilFollowing(): Promise<void> {
    return eventually(async () =>
      /^master_link_status:up\r$/m.test(await this.send("info", "replication").catch(() => "")),
    );
  }
}
