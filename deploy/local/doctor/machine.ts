/** Examines what a start needs from the machine: Node, a folder for the data, Postgres and free ports. */
import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, statSync, statfsSync } from "node:fs";
import { dirname, join } from "node:path";
import { findBinaries, findIdentity } from "../postgres-binaries.ts";
import { databaseVersion } from "../postgres.ts";
import { type Hosts, type Ports, requireFree } from "../ports.ts";
import type { Settings } from "../settings.ts";
import { type Finding, failedFinding, goodFinding, noteFinding, reasonOf } from "./findings.ts";

/** Reports the version of Node. It is recent enough, since the program refuses an older one before. */
export const examineNode = (): Finding => goodFinding("Node", `${process.versions.node} (${process.execPath})`);

/** Free disk space in bytes below which a start fails, and above which it is ample. A new database takes 60 MB, and its log up to 1 GB under load. */
const leastBytes = 200_000_000;
const enoughBytes = 2_000_000_000;

export function examineDataFolder(dataDir: string): Finding {
  const subject = "data folder";
  const remedy = "It must be a folder of the user who starts Sluice; SLUICE_DATA_DIR names another one.";
  const folder = existingPartOf(dataDir);
  try {
    if (!statSync(folder).isDirectory()) return failedFinding(subject, `${folder} is not a folder`, remedy);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    return failedFinding(subject, `${dataDir} cannot be used (${reasonOf(error)})`, remedy);
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const text = `${dataDir}${folder === dataDir ? "" : ", made by the first start"}, ${(free / 1e9).toFixed(1)} GB free`;
  const room = "Make room on its disk, or name a folder on another one in SLUICE_DATA_DIR.";
  if (free < leastBytes) return failedFinding(subject, text, room);
  return free < enoughBytes ? noteFinding(subject, text, room) : goodFinding(subject, text);
}

function existingPartOf(path: string): string {
  return existsSync(path) ? path : existingPartOf(dirname(path));
}

const oldestPostgres = 14;

export async function examinePostgres({ DATABASE_URL: url, dataDir }: Settings): Promise<Finding> {
  return url === undefined ? examineBinaries(dataDir) : examineServer(url);
}

function examineBinaries(dataDir: string): Finding {
  try {
    const binaries = findBinaries(join(dataDir, "postgres"));
    const { prefix } = findIdentity(binaries, existingPartOf(dataDir));
    const [command, ...args] = [...prefix, binaries.postgres, "--version"];
    const version = execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    return goodFinding("Postgres", `${version.trim()}, included`);
  } catch (error) {
    const remedy = "Install without --omit=optional, or name a Postgres of your own in DATABASE_URL.";
    return failedFinding("Postgres", reasonOf(error), remedy);
  }
}

async function examineServer(url: string): Promise<Finding> {
  const { host, pathname } = new URL(url);
  const place = `${host}${pathname}`;
  try {
    const version = await databaseVersion(url);
    const text = `${version} at ${place}, from DATABASE_URL`;
    if (Number.parseInt(version, 10) >= oldestPostgres) return goodFinding("Postgres", text);
    return failedFinding("Postgres", text, `Sluice needs Postgres ${oldestPostgres} or newer.`);
  } catch (error) {
    return failedFinding(
      "Postgres",
      `${place} does not answer: ${reasonOf(error)}`,
      "Start it, or correct DATABASE_URL.",
    );
  }
}

export async function examinePorts(ports: Ports, hosts: Hosts, replicas: number): Promise<readonly Finding[]> {
  try {
    await requireFree(ports, hosts, replicas);
    return [goodFinding("ports", `${Object.values(ports).join(", ")} are free`)];
  } catch (error) {
    const remedy = "Or stop the program that has it; a Sluice of another data folder is one.";
    return reasonOf(error)
      .split("\n")
      .map((problem) => failedFinding("ports", problem, remedy));
  }
}
