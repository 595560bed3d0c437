/**
 * Maximum number of client connections, as a share of the process's file descriptors; the rest is for files, DNS and
 * outgoing calls.
 */
import { readFileSync } from "node:fs";

const line = /^Max open files\s+(\d+)/m;

/** Maximum number of file descriptors; Infinity when the system has no limit or does not report it. */
function maxDescriptors(): number {
  try {
    return Number(line.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** @param share of all file descriptors, below 1 */
export const maxConnections = (share: number): number => Math.floor(maxDescriptors() * share);
