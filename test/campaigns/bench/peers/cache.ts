/** The folder with the other gateways. It is outside of the project, since they are not dependencies, and is kept between runs. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "../../../support/processes.ts";

/** Path of a gateway's folder; the variable BENCH_PEERS names the folder around it. */
export const peerFolder = (id: string): string =>
  join(process.env["BENCH_PEERS"] ?? join(tmpdir(), "sluice-bench-peers"), id);

const versionFile = (id: string) => join(peerFolder(id), "installed-version.txt");
const failureFile = (id: string) => join(peerFolder(id), "not-installed.txt");

const read = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, "utf8") : undefined);

export const isInstalled = (id: string, version: string): boolean => read(versionFile(id)) === version;

/** @throws with the reason if the gateway is not installed */
export function requireInstalled(id: string, version: string): void {
  if (isInstalled(id, version)) return;
  throw new Error(read(failureFile(id)) ?? `${version} is not installed: npm run bench -- --install-peers`);
}

/** Replaces the content of a gateway's folder. A failure is recorded for the tables. @throws with the installer's output */
export async function fillFolder(
  id: string,
  version: string,
  install: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = peerFolder(id);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    await install(folder);
    writeFileSync(versionFile(id), version);
  } catch (error) {
    writeFileSync(failureFile(id), `${version} could not be installed: ${(error as Error).message}`);
    throw error;
  }
}

/** @throws with the last line of the installer's output */
export async function runInstaller(command: string, ...args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await runProgram(command, args);
  if (code === 0) return;
  const lines = (stderr.trim() || stdout.trim()).split("\n");
  throw new Error(`${command} ended with ${code}: ${lines.at(-1)}`);
}
