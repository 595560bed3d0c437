/**
 * Backup and restore of Sluice's own Postgres. An archive contains the files of the cluster and its password, and can be restored by
 * the same version on the same kind of machine. Postgres may run during a backup, but not during a restore.
 */
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import type { Client } from "pg";
import { findRunning } from "./installation-record.ts";
import { clusterFolder, connected, findDatabaseUrl } from "./postgres.ts";
import { passwordFile, readPostmaster } from "./postgres-cluster.ts";
import { isAlive, readCommandLine } from "./processes.ts";

const run = promisify(execFile);

/**
 * Files left out of an archive: `leftOut` belong to a running server and would mislead another; `emptied` are folders whose files Postgres creates at
 * its start.
 */
const leftOut = ["postmaster.pid", "postmaster.opts", "pg_internal.init", "backup_label", "tablespace_map"];
const emptied = ["pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"];

/** Parts of every cluster: without one of them Postgres does not start. */
const clusterParts = ["PG_VERSION", "global/pg_control", "base", "pg_wal", "pg_xact", "postgresql.conf", "pg_hba.conf"];

/**
 * Writes the archive. Its file appears only once it is complete, and is readable by its owner only.  @returns the size of the archive in bytes
 * @throws if there is no database, if the file exists, or if a Postgres runs without Sluice
 */
export async function backUpDatabase(dataDir: string, target: string): Promise<number> {
  const file = resolve(target);
  if (lstatSync(file, { throwIfNoEntry: false })) throw existing(file);
  const postgres = join(dataDir, "postgres");
  const cluster = clusterFolder(postgres);
  if (!existsSync(cluster)) throw new Error(`there is no database in ${dataDir}`);
  const staging = createStaging(postgres, "backup");
  try {
    const copy = join(staging, basename(cluster));
    const port = findRunning(dataDir)?.ports.postgres;
    const url = port === undefined ? undefined : findDatabaseUrl({ dataDir: postgres, port });
    if (url === undefined) copyStopped(dataDir, cluster, copy);
    else await connected(url, (client) => copyRunning(client, cluster, copy), backupLimitMs);
    copyFileSync(passwordFile(postgres), join(staging, "password"));
    const missing = findMissing(staging, basename(cluster));
    if (missing !== undefined) throw new Error(`the copy of the database has no ${missing}: make the backup again`);
    return await pack(staging, [basename(cluster), "password"], file);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

const existing = (file: string, cause?: unknown) => new Error(`${file} exists already`, { cause });

/** Writes a new file under a random name in the folder of the target, and then renames it. @returns the size in bytes */
async function pack(folder: string, parts: readonly string[], file: string): Promise<number> {
  const draft = `${file}.${randomBytes(8).toString("hex")}.new`;
  const output = openSync(draft, "wx", 0o600);
  try {
    const child = spawn("tar", ["-czf", "-", "-C", folder, ...parts], { stdio: ["ignore", output, "pipe"] });
    const [[code, signal], messages] = await Promise.all([once(child, "close"), text(child.stderr as Readable)]);
    if (code !== 0) throw new Error(`tar ended with ${code ?? signal}: ${messages.trim()}`);
    fsyncSync(output);
    giveName(draft, file);
    return statSync(file).size;
  } finally {
    closeSync(output);
    rmSync(draft, { force: true });
  }
}

/** Gives a finished file its name by a link: unlike a rename, a link overwrites no file. Some file systems have no links. */
function giveName(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    if (lstatSync(file, { throwIfNoEntry: false })) throw existing(file, error);
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes((error as NodeJS.ErrnoException).code ?? ""))
      throw error;
    renameSync(draft, file);
  }
}

/** Copies the files of a cluster without a running server. @throws if a server runs, or has run during the copy */
function copyStopped(dataDir: string, cluster: string, copy: string): void {
  const state = () => readFileSync(join(cluster, "global/pg_control"));
  refuseLoneServer(cluster);
  const before = state();
  copyFiles(cluster, copy, () => true);
  // The compared state changes with every start of a server, even if the server has ended meanwhile.
  if (findRunning(dataDir) || findServer(cluster) !== undefined || !before.equals(state()))
    throw new Error("the database was started during the backup: make the backup again");
}

/** The process id of the cluster's server; undefined if none runs. After a crash, the noted id may belong to another program. */
function findServer(cluster: string): number | undefined {
  const pid = readPostmaster(cluster)?.pid;
  return pid !== undefined && readCommandLine(pid)?.includes(realpathSync(cluster)) ? pid : undefined;
}

function refuseLoneServer(cluster: string): void {
  const pid = findServer(cluster);
  if (pid === undefined) return;
  throw new Error(
    `Postgres, process ${pid}, runs in ${cluster} without Sluice: stop it first (kill -INT ${pid}), or start Sluice, which stops it`,
  );
}

/** Time limit of a backup in milliseconds. A backup begins with a checkpoint, which may take minutes on a slow disk. */
const backupLimitMs = 600_000;

/**
 * Copies the files of a running server. A replication slot keeps the log written during the copy, from which Postgres makes the copy consistent at
 * its start.
 */
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

/** Copies a folder. Files removed meanwhile are restored from the log. @param isTaken whether to copy a path in the folder */
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
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || existsSync(from)) throw error;
  }
}

/**
 * Restores an archive. The present database stays beside it in another folder.  @returns that folder; undefined if there was no database  @throws
 * while Sluice or its Postgres runs, and for an archive of another version or an incomplete one
 */
export async function restoreDatabase(dataDir: string, source: string): Promise<string | undefined> {
  const file = resolve(source);
  if (!existsSync(file)) throw new Error(`there is no file ${file}`);
  const postgres = join(dataDir, "postgres");
  const cluster = clusterFolder(postgres);
  refuseRunning(dataDir, cluster);
  const staging = createStaging(postgres, "restore");
  try {
    await run("tar", ["-xzf", file, "-C", staging, "--no-same-owner"]);
    const restored = join(staging, basename(cluster));
    checkVersion(restored, cluster);
    const missing = findMissing(staging, basename(cluster));
    if (missing !== undefined) throw new Error(`the backup is not complete: it has no ${missing}`);
    refuseRunning(dataDir, cluster);
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

function refuseRunning(dataDir: string, cluster: string): void {
  if (findRunning(dataDir)) throw new Error(`Sluice runs in ${dataDir}: stop it first`);
  refuseLoneServer(cluster);
}

/** The first required part missing in the extracted archive. */
const findMissing = (folder: string, cluster: string): string | undefined =>
  ["password", ...clusterParts.map((part) => join(cluster, part))].find((part) => !existsSync(join(folder, part)));

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

/** Creates a folder for this process only, and removes those of killed processes. */
function createStaging(postgres: string, purpose: "backup" | "restore"): string {
  mkdirSync(postgres, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(postgres)) {
    const [, owner] = /^(?:backup|restore)\.new-(\d+)-/.exec(name) ?? [];
    if (owner !== undefined && !isAlive(Number(owner))) rmSync(join(postgres, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(postgres, `${purpose}.new-${process.pid}-`));
}
