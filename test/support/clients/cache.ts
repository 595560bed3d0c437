/** Folders of the user's cache with what tests install or build, each created once for all checkouts of the machine. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

const cacheFolder = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "sluice-test-clients");

/**
 * @param name name of the folder, which must contain everything that determines its content @returns its path, once `make` has filled it in this or
 * an earlier run
 */
export async function makeCachedFolder(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cacheFolder, name);
  mkdirSync(cacheFolder, { recursive: true });
  const release = await lock(`${folder}.lock`);
  try {
    if (existsSync(folder)) return folder;
    const made = mkdtempSync(join(cacheFolder, "making-"));
    try {
      await make(made);
      renameSync(made, folder);
    } finally {
      rmSync(made, { recursive: true, force: true });
    }
    return folder;
  } finally {
    release();
  }
}

const pollMs = 200;

/** Takes a lock, since two installations of one set at the same time would load the machine twice. */
async function lock(file: string): Promise<() => void> {
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return () => rmSync(file, { force: true });
    } catch {
      if (!isHeld(file)) rmSync(file, { force: true });
      else await wait(pollMs);
    }
  }
}

function isHeld(file: string): boolean {
  try {
    process.kill(Number(readFileSync(file, "utf8")), 0);
    return true;
  } catch {
    return false;
  }
}
