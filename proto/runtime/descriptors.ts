/** How many of the descriptors that a process may have go to connections of clients; the others are for files, names, and our own calls. */
import { readFileSync } from "node:fs";

const line = /^Max open files\s+(\d+)/m;

/** Infinity where the system sets no limit, or does not tell: then it is the system that refuses. */
function maxDescriptors(): number {
  try {
    return Number(line.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** @param share of all descriptors, below 1 */
export const maxConnections = (share: number): number => Math.floor(maxDescriptors() * share);
