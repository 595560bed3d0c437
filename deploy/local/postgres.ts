/** Starts a real Postgres server from the installed programs, on 127.0.0.1 only. */
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";
import { type ChildService, endChild, lastLines, fileSize, spawnChild } from "./child.ts";
import { findBinaries, findIdentity } from "./postgres-binaries.ts";
import {
  createCluster,
  databaseUser,
  changeOwner,
  readOrCreatePassword,
  readPostmaster,
  stopLeftover,
} from "./postgres-cluster.ts";

export interface PostgresOptions {
  /** Folder for this server only, created if missing. */
  readonly dataDir: string;
  readonly port: number;
  /** Path of the log file for the server's messages; they are appended. */
  readonly log: string;
  /** Whether Postgres flushes to disk. False only if the data may be lost with the machine, as in tests. */
  readonly fsync?: boolean;
  /** Called before the database is created; the creation takes about a second. */
  readonly onCreate?: () => void;
  /** Ends a server that is not ready yet, when aborted. */
  readonly signal?: AbortSignal;
}

export interface RunningPostgres extends ChildService {
  readonly url: string;
}

/** The URL of the server created by an earlier start; undefined before the first start. */
export function findDatabaseUrl({ dataDir, port }: Pick<PostgresOptions, "dataDir" | "port">): string | undefined {
  if (!existsSync(clusterFolder(dataDir))) return undefined;
  return urlOf(readOrCreatePassword(dataDir).password, port);
}

/** Folder of the server's files. @param dataDir data folder of the server */
export const clusterFolder = (dataDir: string): string => join(dataDir, "cluster");

const urlOf = (password: string, port: number): string =>
  `postgres://${databaseUser}:${password}@127.0.0.1:${port}/postgres`;

export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const dataDir = realpathSync(options.dataDir);
  const cluster = clusterFolder(dataDir);
  const binaries = findBinaries(dataDir);
  const identity = findIdentity(binaries, dataDir);
  const { file, password } = readOrCreatePassword(dataDir);
  if (existsSync(cluster)) await stopLeftover(cluster);
  else {
    options.onCreate?.();
    createCluster(cluster, file, binaries, identity);
  }
  changeOwner(cluster, identity);
  const [command, ...args] = [...identity.prefix, binaries.postgres, "-D", cluster, ...settings(options)];
  const running = await launch(command as string, args, options, cluster);
  return { ...running, url: urlOf(password, options.port) };
}

function settings({ port, fsync = true }: PostgresOptions): string[] {
  const lossy = fsync ? [] : ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];
  const values = [
    "listen_addresses=127.0.0.1",
    `port=${port}`,
    "unix_socket_directories=", // no sockets in the file system: the paths may be too long, and no client needs them
    "log_checkpoints=off", // checkpoint messages would crowd out important ones
    "log_min_error_statement=panic", // logs no statement, since statements contain data
    ...lossy,
  ];
  return values.flatMap((value) => ["-c", value]);
}

async function launch(
  command: string,
  args: string[],
  { log, signal }: PostgresOptions,
  cluster: string,
): Promise<ChildService> {
  const from = fileSize(log);
  const { pid, exited, child } = await spawnChild(command, args, { log, whenOrphaned: "INT" });
  while (!isReady(cluster, pid)) {
    const how = await Promise.race([exited, delay(10)]);
    if (how !== undefined) throw new Error(`Postgres did not start (${how}):\n${lastLines(log, 12, from)}`);
    if (signal?.aborted) {
      await endChild(child, exited, "SIGINT", 20_000);
      throw signal.reason;
    }
  }
  return {
    pid,
    exited,
    // SIGINT is Postgres's fast shutdown: it ends all sessions and writes everything to disk.
    stop: () => endChild(child, exited, "SIGINT", 20_000),
    kill: () => endChild(child, exited, "SIGINT", 5_000),
  };
}

function isReady(cluster: string, pid: number): boolean {
  const state = readPostmaster(cluster);
  return state?.pid === pid && state.ready;
}

const connectLimitMs = 5_000;

/**
 * Whether an earlier start has used the database, so a newly created secret would not match its records. False if the database does not answer:
 * admin-svc, which needs it, reports the reason.
 */
export async function hasServedBefore(databaseUrl: string): Promise<boolean> {
  const isTrue = async (client: Client, text: string) =>
    (await client.query<{ used: boolean }>(`SELECT ${text} AS used`)).rows[0]?.used === true;
  try {
    return await connected(databaseUrl, async (client) => {
      if (!(await isTrue(client, "to_regclass('api_keys') IS NOT NULL"))) return false;
      return isTrue(client, "EXISTS (SELECT FROM api_keys)");
    });
  } catch {
    return false;
  }
}

/** The version of a server, such as 18.4. @throws if the server does not answer */
export const databaseVersion = (databaseUrl: string): Promise<string> =>
  connected(databaseUrl, async (client) => {
    const { rows } = await client.query<{ server_version: string }>("SHOW server_version");
    return rows[0]?.server_version ?? "";
  });

/** Runs a function with a connection to the database. @param statementMs time limit of a statement in milliseconds; no limit if absent */
export async function connected<Result>(
  databaseUrl: string,
  use: (client: Client) => Promise<Result>,
  statementMs?: number,
): Promise<Result> {
  // The package is loaded only when needed, because loading takes a tenth of the supervisor's start.
  const { default: pg } = await import("pg");
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: connectLimitMs,
    query_timeout: statementMs,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
