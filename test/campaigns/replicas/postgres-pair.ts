/**
 * A Postgres with a synchronous standby, which has every commit before the client knows of it. The primary can be killed and restarted, or replaced
 * by the standby, which then gets a standby of its own.
 */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type RunningPostgres, startPostgres } from "@sluice/local/postgres.js";
import pg from "pg";
import { freePorts } from "../../support/runner/free-ports.ts";
import { eventually } from "../../support/processes.ts";

interface Server {
  readonly dataDir: string;
  readonly port: number;
  readonly log: string;
}

/** Files of a running server that are left out of a copy. */
const ownFiles = /^(postmaster\.pid|postmaster\.opts|pg_wal\/.+|pg_replslot\/.+|pg_dynshmem\/.+|pg_notify\/.+)$/;

export class PostgresPair {
  #primary: Server;
  #standby: Server;
  #serving: RunningPostgres | undefined;
  #following: RunningPostgres | undefined;

  private constructor(primary: Server, standby: Server) {
    this.#primary = primary;
    this.#standby = standby;
  }

  static async start(folder: string): Promise<PostgresPair> {
    const ports = await freePorts(2);
    const [one, other] = ports.map(
      (port, n): Server => ({ dataDir: join(folder, `postgres-${n}`), port, log: join(folder, `postgres-${n}.log`) }),
    ) as [Server, Server];
    const pair = new PostgresPair(one, other);
    pair.#serving = await startPostgres(one);
    await pair.#follow();
    return pair;
  }

  /** URL of the server that accepts writes. */
  get url(): string {
    return (this.#serving as RunningPostgres).url;
  }

  get port(): number {
    return this.#primary.port;
  }

  /** Kills the primary, and starts it again with the same files. */
  async crash(): Promise<void> {
    await killNow(this.#serving);
    this.#serving = await restart(this.#primary);
    await this.#untilFollowed();
  }

  /** Kills the primary, and makes the standby the primary. @param moved called as soon as writes are possible */
  async failOver(moved: () => void): Promise<void> {
    await killNow(this.#serving);
    const left = this.#primary;
    this.#serving = this.#following;
    this.#primary = this.#standby;
    this.#standby = left;
    this.#following = undefined;
    await this.#query("select pg_promote(true, 60)");
    moved();
    rmSync(left.dataDir, { recursive: true, force: true });
    await this.#follow();
  }

  async stop(): Promise<void> {
    await this.#following?.kill();
    await this.#serving?.kill();
  }

  /** Makes a standby from the primary's files; commits then wait for it. */
  async #follow(): Promise<void> {
    const { dataDir } = this.#standby;
    const cluster = join(dataDir, "cluster");
    // The server does not wait for the disk: tests kill processes but never the machine, so written data are safe, and a busy disk delays no commit.
    await this.#query(
      "alter system set fsync = off",
      "alter system set wal_keep_size = '512MB'",
      "select pg_reload_conf()",
    );
    await this.#copyTo(cluster);
    const source = new URL(this.url);
    const conninfo = `host=127.0.0.1 port=${source.port} user=${source.username} password=${source.password} application_name=standby`;
    appendFileSync(
      join(cluster, "postgresql.auto.conf"),
      `primary_conninfo = '${conninfo}'\nwal_retrieve_retry_interval = '100ms'\n`,
    );
    writeFileSync(join(cluster, "standby.signal"), "");
    writeFileSync(join(dataDir, "password"), readFileSync(join(this.#primary.dataDir, "password")), { mode: 0o600 });
    this.#following = await restart(this.#standby);
    await this.#query("alter system set synchronous_standby_names = 'standby'", "select pg_reload_conf()");
    await this.#untilFollowed();
  }

  /** Copies the files of a running server, with the backup label that makes the copy consistent. */
  async #copyTo(cluster: string): Promise<void> {
    const from = join(this.#primary.dataDir, "cluster");
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    try {
      await client.query("select pg_backup_start('standby', true)");
      await cp(from, cluster, { recursive: true, filter: (path) => !ownFiles.test(path.slice(from.length + 1)) });
      const { rows } = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)");
      writeFileSync(join(cluster, "backup_label"), (rows[0] as { labelfile: string }).labelfile);
    } finally {
      await client.end();
    }
  }

  #untilFollowed(): Promise<void> {
    return eventually(async () => {
      const rows = await this.#query("select 1 from pg_stat_replication where sync_state = 'sync'").catch(() => []);
      return rows.length === 1;
    });
  }

  /** @returns the rows of the last statement */
  async #query(...statements: readonly string[]): Promise<readonly unknown[]> {
    const client = new pg.Client({ connectionString: this.url });
    client.on("error", () => undefined);
    await client.connect();
    try {
      let rows: readonly unknown[] = [];
      for (const statement of statements) rows = (await client.query<Record<string, unknown>>(statement)).rows;
      return rows;
    } finally {
      await client.end();
    }
  }
}

async function killNow(running: RunningPostgres | undefined): Promise<void> {
  if (!running) return;
  process.kill(running.pid, "SIGKILL");
  await running.exited;
}

/** Starts a killed server again. The session processes of the killed server live a moment longer, and prevent a start. */
async function restart(server: Server): Promise<RunningPostgres> {
  for (let tries = 1; ; tries++) {
    try {
      return await startPostgres(server);
    } catch (error) {
      if (tries === 50) throw error;
      await wait(100);
    }
  }
}
