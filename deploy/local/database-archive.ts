/**
 * Backup and restore of the Postgres that Sluice runs itself. An archive has the files of its cluster and its password, and is of use to the same version on the same
 * kind of machine. Postgres may run during a backup, and not during a restore.
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

/** Files of a running server, which another one must not find, and folders whose files a start makes again. */
const leftOut = ["postmaster.pid", "postmaster.opts", "pg_internal.init", "backup_label", "tablespace_map"];
const emptied = ["pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"];

/** Parts of every cluster. Postgres does not start without them. */
const clusterParts = ["PG_VERSION", "global/pg_control", "base", "pg_wal", "pg_xact", "postgresql.conf", "pg_hba.conf"];

/**
 * Writes the archive; the file appears once it is complete, readable by its owner only.
 * @returns its size in bytes
 * @throws when there is no database, or a file of this name, or a Postgres that runs without Sluice
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

/** Writes a new file of a random name in the folder of the target, and then names it. @returns the size in bytes */
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

/** A link overwrites no file, unlike a rename; some file systems have no links. */
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

/** Copies the files of a cluster that no server uses. @throws when a server runs, or has run meanwhile */
function copyStopped(dataDir: string, cluster: string, copy: string): void {
  const state = () => readFileSync(join(cluster, "global/pg_control"));
  refuseLoneServer(cluster);
  const before = state();
  copyFiles(cluster, copy, () => true);
  // A start changes the state, also when the server has ended since.
  if (findRunning(dataDir) || findServer(cluster) !== undefined || !before.equals(state()))
    throw new Error("the database was started during the backup: make the backup again");
}

/** The process id of the server of a cluster. After a crash, the noted id may be of another program. */
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
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || existsSync(from)) throw error;
  }
}

/**
 * Puts the database of an archive in the place of the present one, which stays beside it.
 * @returns the folder of the present one; undefined when there was none
 * @throws while Sluice or its Postgres runs, and for an archive that is of another version or not complete
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

/** The first part that a folder of an archive's content lacks. */
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

/** Creates a folder for this process only, and removes those of processes that were killed. */
function createStaging(postgres: string, purpose: "backup" | "restore"): string {
  mkdirSync(postgres, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(postgres)) {
    const [, owner] = /^(?:backup|restore)\.new-(\d+)-/.exec(name) ?? [];
    if (owner !== undefined && !isAlive(Number(owner))) rmSync(join(postgres, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(postgres, `${purpose}.new-${process.pid}-`));
}
