/**
 * A folder for all files of a test run. A watchdog process ends the run's processes and removes the
 * folder, also when the run is interrupted or killed.
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

/** Commands for cleanup beyond the folder, one file each, run in the order of their names. */
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
 * Makes the folder, the parent of all later temporary folders of this process and of its children.
 * @param server on which the databases of the run are to be dropped; undefined when it ends with the run
 */
export function openRunFolder(server: string | undefined): RunFolder {
  // Short: podman takes no path above 50 characters for its files.
  const path = mkdtempSync(join(tmpdir(), "sluice-run-"));
  // Open to every user, like /tmp itself, because tests run programs as other users.
  chmodSync(path, 0o1777);
  mkdirSync(join(path, undoFolder));
  const run = path.slice(-6);
  // Detached, as Ctrl-C reaches every process of the terminal's group.
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
 * Has the command run after an interrupted run, before its folder is removed. Nothing happens outside of a run.
 * @returns how to call it off
 */
export function undoAfterRun(name: string, command: UndoCommand): () => void {
  const file = join(tmpdir(), undoFolder, `${name}.json`);
  if (process.env[runVariable] === undefined) return () => undefined;
  writeFileSync(file, JSON.stringify(command), { mode: 0o600 });
  return () => rmSync(file, { force: true });
}
