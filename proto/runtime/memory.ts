/** How much of the memory that it may have a process takes. */
import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

/** Above so much of it the kernel or V8 may end the process before what is under way has given anything back. */
const mostResident = 0.8;
const mostHeap = 0.75;

/** The container's limit where there is one: above the machine's memory it says nothing. */
const limitBytes = (): number => Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());

/** In percent of what is safe, of whichever is scarcer: memory of the process, or the heap of V8. */
export function memoryTaken(): number {
  const { used_heap_size: used, heap_size_limit: most } = getHeapStatistics();
  return 100 * Math.max(process.memoryUsage.rss() / (limitBytes() * mostResident), used / (most * mostHeap));
}
