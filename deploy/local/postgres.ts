/** Starts a real Postgres server from the installed programs, on 127.0.0.1 only. */
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Running, end, lastLines, sizeOf, spawnChild } from "./child.ts";
import { findBinaries, findIdentity } from "./postgres-binaries.ts";
import { createCluster, databaseUser, own, passwordIn, readPostmaster, stopLeftover } from "./postgres-cluster.ts";

export interface PostgresOptions {
  /** A folder of its own; made when missing. */
  readonly dataDir: string;
  readonly port: number;
  /** Path of the file to which the server's messages are appended. */
  readonly log: string;
  /** Off only where the data may be lost with the machine, as in tests. */
  readonly fsync?: boolean;
  /** Called before the database is created, which takes about a second. */
  readonly onCreate?: () => void;
}

export interface RunningPostgres extends Running {
  readonly url: string;
}

export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const dataDir = realpathSync(options.dataDir);
  const cluster = join(dataDir, "cluster");
  const binaries = findBinaries(dataDir);
  const identity = findIdentity(binaries, dataDir);
  const { file, password } = passwordIn(dataDir);
  if (existsSync(cluster)) await stopLeftover(cluster);
  else {
    options.onCreate?.();
    createCluster(cluster, file, binaries, identity);
  }
  own(cluster, identity);
  const [command, ...args] = [...identity.prefix, binaries.postgres, "-D", cluster, ...settings(options)];
  const running = await launch(command as string, args, options.log, cluster);
  return { ...running, url: `postgres://${databaseUser}:${password}@127.0.0.1:${options.port}/postgres` };
}

function settings({ port, fsync = true }: PostgresOptions): string[] {
  const lossy = fsync ? [] : ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];
  const values = [
    "listen_addresses=127.0.0.1",
    `port=${port}`,
    "unix_socket_directories=", // their paths may be too long, and nobody needs them
    "log_checkpoints=off", // or they would crowd out what matters
    "log_min_error_statement=panic", // statements carry data, which belongs in no log
    ...lossy,
  ];
  return values.flatMap((value) => ["-c", value]);
}

async function launch(command: string, args: string[], log: string, cluster: string): Promise<Running> {
  const from = sizeOf(log);
  const { pid, exited, child } = await spawnChild(command, args, { log, whenOrphaned: "INT" });
  while (!isReady(cluster, pid)) {
    const how = await Promise.race([exited, delay(10)]);
    if (how !== undefined) throw new Error(`Postgres did not start (${how}):\n${lastLines(log, 12, from)}`);
  }
  return {
    pid,
    exited,
    // SIGINT is the fast shutdown: sessions are ended, everything is written.
    stop: () => end(child, exited, "SIGINT", 20_000),
    kill: () => end(child, exited, "SIGINT", 5_000),
  };
}

function isReady(cluster: string, pid: number): boolean {
  const state = readPostmaster(cluster);
  return state?.pid === pid && state.ready;
}
