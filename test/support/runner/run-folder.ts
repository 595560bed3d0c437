/**
 * A folder for all files of a test run. A process that survives the run ends the run's processes and removes the folder, even if the run is
 * interrupted or killed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Variable with the name of the run; the names of its databases begin with it. */
export const runVariable = "SLUICE_TEST_RUN";

const sweeper = fileURLToPath(new URL("sweep.js", import.meta.url));

/** Folder of commands for cleanup, one file each, which run in the order of their names. */
export const undoFolder = "undo";

export interface UndoCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

export interface RunFolder {
  readonly path: string;
  /** Removes the folder with its content. */
  remove(): Promise<void>;
}

/**
 * Creates the folder, in which this process and its children then create temporary folders.  @param server server on which the databases of the run
 * are to be dropped; undefined if the server ends with the run
 */
export function openRunFolder(server: string | undefined): RunFolder {
  // The path is short, since podman accepts no path above 50 characters for its files.
  const path = mkdtempSync(join(tmpdir(), "sluice-run-"));
  // Every user may write to the folder, as to /tmp itself, because tests run programs as other users.
  chmodSync(path, 0o1777);
  mkdirSync(join(path, undoFolder));
  const run = path.slice(-6);
  // The process is detached, since Ctrl-C reaches every process in the terminal's group.
  const child = spawn(process.execPath, [sweeper, path], {
    detached: true,
    stdio: ["pipe", "ignore", "inherit"],
    env: { ...process.env, [runVariable]: run, ...(server !== undefined && { DATABASE_URL: server }) },
  });
  const ended = once(child, "exit");
  child.unref();
  (child.stdin as unknown as Socket).unref();
  process.env["TMPDIR"] = path;
  process.env[runVariable] = run;
  const remove = async () => {
    child.ref();
    child.stdin?.end();
    await ended;
  };
  return { path, remove };
}

/**
 * Has a command run after an interrupted run, before its folder is removed. Outside of a run nothing happens.  @returns a function to withdraw the
 * command
 */
export function undoAfterRun(name: string, command: UndoCommand): () => void {
  const file = join(tmpdir(), undoFolder, `${name}.json`);
  if (process.env[runVariable] === undefined) return () => undefined;
  writeFileSync(file, JSON.stringify(command), { mode: 0o600 });
  return () => rmSync(file, { force: true });
}
