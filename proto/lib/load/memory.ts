/** Memory limit of a process, and its use. */
import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

/** Above this share, the kernel or V8 may end the process before running requests have released their memory. */
const maxResident = 0.8;
const maxHeap = 0.75;
/** The rest is for the program, connections, and uncollected garbage. */
const budgetShare = 0.5;
/** Node gives its heap half of a container's memory; a smaller configured heap implies proportionally less memory. */
const memoryPerHeap = 2;

/** The container's limit, if there is one: otherwise the value exceeds the machine's memory. */
const limitBytes = (): number => Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());

/** Bytes available for reservations of requests. @param share the service's share of the process */
export const budgetBytes = (share: number): number =>
  Math.floor(share * budgetShare * Math.min(limitBytes(), memoryPerHeap * getHeapStatistics().heap_size_limit));

/** Last known resident size: reading it needs a file descriptor, and none may be free. */
let resident = 0;
function residentBytes(): number {
  try {
    resident = process.memoryUsage.rss();
  } catch {
    // The next call may find a free descriptor again.
  }
  return resident;
}

/** Use in percent of the safe amount, for the process's memory or V8's heap, whichever is scarcer. */
export function memoryUsePercent(): number {
  const { used_heap_size: used, heap_size_limit: most } = getHeapStatistics();
  return 100 * Math.max(residentBytes() / (limitBytes() * maxResident), used / (most * maxHeap));
}
