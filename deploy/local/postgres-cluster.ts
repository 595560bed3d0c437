/** Files of a Postgres server: their creation and ownership, and the remains of an earlier server. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  lchownSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Binaries, Identity } from "./postgres-binaries.ts";
import { readCommandLine, sendSignal, waitUntilGone } from "./processes.ts";

export const databaseUser = "sluice";

/** Path of the file with the database password. @param dataDir data folder of the server */
export const passwordFile = (dataDir: string): string => join(dataDir, "password");

/** The password of the database, created at the first start and readable by its owner only. */
export function readOrCreatePassword(dataDir: string): { file: string; password: string } {
  const file = passwordFile(dataDir);
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(24).toString("base64url")}\n`, { mode: 0o600 });
  return { file, password: readFileSync(file, "utf8").trim() };
}

/** Creates the cluster under another name first, so an interrupted start leaves nothing similar to a cluster. */
export function createCluster(cluster: string, passwordFile: string, binaries: Binaries, identity: Identity): void {
  const draft = `${cluster}.new`;
  rmSync(draft, { recursive: true, force: true });
  const [command, ...args] = [
    ...identity.prefix,
    binaries.initdb,
    `--pgdata=${draft}`,
    `--username=${databaseUser}`,
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin", // sorts texts in the same order on every machine, whatever locales it has
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
  ];
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) {
    throw new Error(`The database could not be created:\n${error?.message ?? `${stdout}${stderr}`.trim()}`);
  }
  renameSync(draft, cluster);
}

/** Makes the user of the Postgres process the owner of its files. The owner changes only if the machine's rules for this user have changed. */
export function changeOwner(cluster: string, { uid, gid }: Identity): void {
  if (process.getuid?.() !== 0 || statSync(cluster).uid === uid) return;
  lchownSync(cluster, uid, gid);
  for (const path of readdirSync(cluster, { recursive: true, encoding: "utf8" })) {
    lchownSync(join(cluster, path), uid, gid);
  }
}

/** Process id and state in `postmaster.pid`; undefined without the file. */
export function readPostmaster(cluster: string): { pid: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(join(cluster, "postmaster.pid"), "utf8").split("\n");
    return { pid: Number(lines[0]), ready: lines[7]?.trim() === "ready" };
  } catch {
    return undefined;
  }
}

/**
 * Stops a server left behind by its supervisor. If the process id in its file belongs to another program, only the file is removed: Postgres would
 * take that program for a server and refuse to start.
 */
export async function stopLeftover(cluster: string): Promise<void> {
  const leftover = readPostmaster(cluster);
  if (leftover === undefined) return;
  const command = readCommandLine(leftover.pid);
  if (command?.includes(cluster)) {
    sendSignal(leftover.pid, "SIGINT");
    if (await waitUntilGone(leftover.pid, 10_000)) return;
    sendSignal(leftover.pid, "SIGQUIT");
    if (await waitUntilGone(leftover.pid, 10_000)) return;
    throw new Error(`An earlier Postgres, process ${leftover.pid}, does not stop.`);
  }
  if (command === undefined || !command.includes("postgres")) rmSync(join(cluster, "postmaster.pid"), { force: true });
}
