/**
 * Reads the resources of each process of an installation after a garbage collection. It works on Linux only, since it counts open descriptors in
 * /proc.
 */
import { readdirSync } from "node:fs";
import { readInUse } from "./in-use.ts";
import { residentBytes } from "./machine.ts";
import { type Service, services } from "./installation.ts";

export interface ProcessReading {
  readonly heapKib: number;
  readonly externalKib: number;
  readonly residentKib: number;
  readonly descriptors: number;
  /** Number of timers that keep the process alive. */
  readonly timers: number;
  /** Number of sockets, servers, pipes and system requests that keep the process alive. */
  readonly handles: number;
}

export type ReadingsByService = Readonly<Record<Service, ProcessReading>>;

/** @throws if a process does not answer within a minute */
export async function takeReadings(pids: Readonly<Record<string, number>>, folder: string): Promise<ReadingsByService> {
  const found = services.map(async (name) => [name, await lookAt(pids[name] as number, folder)] as const);
  return Object.fromEntries(await Promise.all(found)) as Record<Service, ProcessReading>;
}

async function lookAt(pid: number, folder: string): Promise<ProcessReading> {
  const { heapBytes, externalBytes, resources } = await readInUse(pid, folder);
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
