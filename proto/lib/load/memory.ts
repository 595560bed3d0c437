/** Memory limit of the process, and how much of it is used. */
import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

/**
 * Share of the memory limit that is safe to use: above it, the kernel or V8 may end the process before running requests
 * have released their memory.
 */
const maxResident = 0.8;
const maxHeap = 0.75;
/**
 * Share of the memory limit for request and answer bytes; the rest is for the program, connections, and uncollected
 * garbage.
 */
const budgetShare = 0.5;
/**
 * Memory limit relative to V8's heap limit: Node gives its heap half of a container's memory, and a smaller configured
 * heap implies proportionally less memory.
 */
const memoryPerHeap = 2;

/** Memory limit of the container, if there is one: otherwise the system reports more than the memory of the machine. */
const limitBytes = (): number => Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());

/** Bytes that requests may reserve. @param share of the process that belongs to the service */
export const budgetBytes = (share: number): number =>
  Math.floor(share * budgetShare * Math.min(limitBytes(), memoryPerHeap * getHeapStatistics().heap_size_limit));

/** Last known resident size. To read it needs a file descriptor, and there may be none left. */
let resident = 0;
function residentBytes(): number {
  try {
    resident = process.memoryUsage.rss();
  } catch {
    // Without a free file descriptor, the last value is used until a later call can read it.
  }
  return resident;
}

/** Used memory in percent of the safe amount: that of the process or of V8's heap, whichever is higher. */
export function memoryUsePercent(): number {
  const { used_heap_size: used, heap_size_limit: most } = getHeapStatistics();
  return 100 * Math.max(residentBytes() / (limitBytes() * maxResident), used / (most * maxHeap));
}
