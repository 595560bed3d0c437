/** Asks processes of an installation for their memory in use. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./processes.ts";
import type { InUse } from "./in-use-preload.ts";

/** Number of collections: the first one runs finalizers, the second one collects their garbage. */
const collections = 2;

/** Environment variables with which an installation's processes report their memory. @param folder folder for the reports */
export function inUseVariables(folder: string): Record<string, string> {
  const preload = new URL("./in-use-preload.js", import.meta.url);
  preload.searchParams.set("folder", folder);
  return { NODE_OPTIONS: `--import=${preload.href}` };
}

/** Reads the memory in use of a process after a garbage collection. @throws if the process does not answer within a minute */
export async function readInUse(pid: number, folder: string): Promise<InUse> {
  const path = join(folder, `${pid}.json`);
  let inUse = readAt(path);
  for (let n = 0; n < collections; n++) {
    const last = inUse?.number ?? 0;
    process.kill(pid, "SIGUSR2");
    await eventually(() => ((inUse = readAt(path))?.number ?? 0) > last);
  }
  return inUse as InUse;
}

function readAt(path: string): InUse | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as InUse;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
