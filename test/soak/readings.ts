/**
 * Reads the resources of each process of a house after a garbage collection. Linux only: open descriptors are counted
 * in /proc.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { residentBytes } from "../bench/measure/machine.ts";
import { eventually } from "../support/processes.ts";
import type { Inside } from "./inside.ts";
import { type Service, services } from "../support/house.ts";

export interface ProcessReading {
  readonly heapKib: number;
  readonly externalKib: number;
  readonly residentKib: number;
  readonly descriptors: number;
  /** Timers that keep the process from ending. */
  readonly timers: number;
  /** Sockets, servers, pipes and requests to the system that do so. */
  readonly handles: number;
}

export type Readings = Readonly<Record<Service, ProcessReading>>;

/** The first collection runs finalizers, whose garbage the second one takes. */
const collections = 2;

/** Variables of a house whose processes can be looked into. @param folder in which they write */
export const readable = (folder: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=${new URL("inside.js", import.meta.url).href}`,
  SLUICE_SOAK_READINGS: folder,
});

/** @throws when a process does not answer within a minute */
export async function look(pids: Readonly<Record<string, number>>, folder: string): Promise<Readings> {
  const found = services.map(async (name) => [name, await lookAt(pids[name] as number, folder)] as const);
  return Object.fromEntries(await Promise.all(found)) as Record<Service, ProcessReading>;
}

async function lookAt(pid: number, folder: string): Promise<ProcessReading> {
  const path = join(folder, `${pid}.json`);
  let inside = insideAt(path);
  for (let n = 0; n < collections; n++) {
    const last = inside?.number ?? 0;
    process.kill(pid, "SIGUSR2");
    await eventually(() => ((inside = insideAt(path))?.number ?? 0) > last);
  }
  const { heapBytes, externalBytes, resources } = inside as Inside;
  const { Timeout: timers = 0, Immediate: _, ...handles } = resources;
  return {
    heapKib: Math.round(heapBytes / 1_024),
    externalKib: Math.round(externalBytes / 1_024),
    residentKib: Math.round(residentBytes(pid) / 1_024),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    timers,
    handles: Object.values(handles).reduce((sum, count) => sum + count, 0),
  };
}

function insideAt(path: string): Inside | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Inside;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
