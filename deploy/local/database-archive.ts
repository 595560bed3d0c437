/**
 * Backup and restore of the Postgres that Sluice runs itself. An archive has the files of its cluster and its password, and is of use to the same version on the same
 * kind of machine. Postgres may run during a backup, and not during a restore.
 */
import { execFile } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Client } from "pg";
import { findRunning } from "./installation-record.ts";
import { clusterFolder, connected, findDatabaseUrl } from "./postgres.ts";
import { passwordFile, readPostmaster } from "./postgres-cluster.ts";
import { isAlive } from "./processes.ts";

const run = promisify(execFile);

/** Files of a running server, which another one must not find, and folders whose files a start makes again. */
const leftOut = ["postmaster.pid", "postmaster.opts", "pg_internal.init", "backup_label", "tablespace_map"];
const emptied = ["pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"];

/**
 * Writes the archive; the file appears once it is complete.
 * @returns its size in bytes
 * @throws when there is no database, or a file of this name
 */
export async function backUpDatabase(dataDir: string, target: string): Promise<number> {
  const file = resolve(target);
  if (existsSync(file)) throw new Error(`${file} exists already`);
  const postgres = join(dataDir, "postgres");
  const cluster = clusterFolder(postgres);
  if (!existsSync(cluster)) throw new Error(`there is no database in ${dataDir}`);
  const staging = emptyFolder(join(postgres, "backup.new"));
  try {
    const copy = join(staging, basename(cluster));
    const port = findRunning(dataDir)?.ports.postgres;
    const url = port === undefined ? undefined : findDatabaseUrl({ dataDir: postgres, port });
    if (url === undefined) copyFiles(cluster, copy, () => true);
    else await connected(url, (client) => copyRunning(client, cluster, copy), backupLimitMs);
    copyFileSync(passwordFile(postgres), join(staging, "password"));
    const draft = `${file}.new`;
    writeFileSync(draft, "", { mode: 0o600 });
    await run("tar", ["-czf", draft, "-C", staging, basename(cluster), "password"]);
    renameSync(draft, file);
    return statSync(file).size;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** A backup begins with a checkpoint, which may take minutes on a slow disk. */
const backupLimitMs = 600_000;

/** The slot keeps the log of the time of the copy, from which a start makes the copy consistent. */
async function copyRunning(client: Client, cluster: string, copy: string): Promise<void> {
  await client.query("SELECT pg_create_physical_replication_slot('sluice_backup_' || pg_backend_pid(), true, true)");
  await client.query("SELECT pg_backup_start('sluice', true)");
  copyFiles(cluster, copy, (path) => !path.startsWith("pg_wal/"));
  const { rows } = await client.query<{ label: string; spaces: string }>(
    "SELECT labelfile AS label, spcmapfile AS spaces FROM pg_backup_stop(false)",
  );
  copyFiles(join(cluster, "pg_wal"), join(copy, "pg_wal"), () => true);
  writeFileSync(join(copy, "backup_label"), rows[0]?.label ?? "", { mode: 0o600 });
  if (rows[0]?.spaces) writeFileSync(join(copy, "tablespace_map"), rows[0].spaces, { mode: 0o600 });
}

/** Copies a folder. Files that disappear meanwhile are in the log. @param isTaken of a path in the folder */
function copyFiles(from: string, to: string, isTaken: (path: string) => boolean): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const path of readdirSync(from, { recursive: true, encoding: "utf8" })) {
    const [top = ""] = path.split("/");
    if (leftOut.includes(basename(path)) || (emptied.includes(top) && path !== top)) continue;
    const source = statSync(join(from, path), { throwIfNoEntry: false });
    if (source?.isDirectory()) mkdirSync(join(to, path), { recursive: true, mode: 0o700 });
    else if (source?.isFile() && isTaken(path)) copyUnlessGone(join(from, path), join(to, path));
  }
}

function copyUnlessGone(from: string, to: string): void {
  try {
    copyFileSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/**
 * Puts the database of an archive in the place of the present one, which stays beside it.
 * @returns the folder of the present one; undefined when there was none
 * @throws while Sluice runs, and for an archive of another version
 */
export async function restoreDatabase(dataDir: string, source: string): Promise<string | undefined> {
  const file = resolve(source);
  if (!existsSync(file)) throw new Error(`there is no file ${file}`);
  const postgres = join(dataDir, "postgres");
  const cluster = clusterFolder(postgres);
  const server = readPostmaster(cluster)?.pid;
  if (findRunning(dataDir) || (server !== undefined && isAlive(server)))
    throw new Error(`Sluice runs in ${dataDir}: stop it first`);
  const staging = emptyFolder(join(postgres, "restore.new"));
  try {
    await run("tar", ["-xzf", file, "-C", staging, "--no-same-owner"]);
    const restored = join(staging, basename(cluster));
    checkVersion(restored, cluster);
    const before = existsSync(cluster)
      ? `${cluster}.before-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`
      : undefined;
    if (before !== undefined) renameSync(cluster, before);
    renameSync(restored, cluster);
    renameSync(join(staging, "password"), passwordFile(postgres));
    return before;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function checkVersion(restored: string, present: string): void {
  const versionOf = (folder: string): string | undefined => {
    const path = join(folder, "PG_VERSION");
    return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
  };
  const version = versionOf(restored);
  if (version === undefined) throw new Error("the file is no backup of a database of Sluice");
  const own = versionOf(present) ?? version;
  if (version !== own) throw new Error(`the backup is of PostgreSQL ${version}, and this is PostgreSQL ${own}`);
}

function emptyFolder(path: string): string {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  mkdirSync(path, { mode: 0o700 });
  return path;
}
