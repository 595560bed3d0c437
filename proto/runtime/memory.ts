/** How much memory a process may have, and how much of it the process takes. */
import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

/** Above so much of it the kernel or V8 may end the process before what is under way has given anything back. */
const mostResident = 0.8;
const mostHeap = 0.75;
/** The rest is for the program itself, for connections, and for garbage that is not collected yet. */
const budgetShare = 0.5;
/** Node gives its heap half of a container's memory; where the heap is set smaller, the process is meant for as much less. */
const memoryPerHeap = 2;

/** The container's limit where there is one: above the machine's memory it says nothing. */
const limitBytes = (): number => Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());

/** Bytes that may be reserved for requests under way. */
export const budgetBytes = (): number =>
  Math.floor(budgetShare * Math.min(limitBytes(), memoryPerHeap * getHeapStatistics().heap_size_limit));

/** The last resident size that could be read: it is read from a file, which needs a descriptor that may not be left. */
let resident = 0;
function residentBytes(): number {
  try {
    resident = process.memoryUsage.rss();
  } catch {
    // The next look may find a descriptor again.
  }
  return resident;
}

/** In percent of what is safe, of whichever is scarcer: memory of the process, or the heap of V8. */
export function memoryTaken(): number {
  const { used_heap_size: used, heap_size_limit: most } = getHeapStatistics();
  return 100 * Math.max(residentBytes() / (limitBytes() * mostResident), used / (most * mostHeap));
}
