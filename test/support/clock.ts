/** Assertions about time that hold on a slow machine, but fail for code that waits for a timer. */

import { readFileSync } from "node:fs";

/**
 * Repeats a measurement until it is below the limit. @returns the minimum in ms. Other work on the machine delays some tries, but a timer delays all
 * of them: a defect must take much longer than the limit to be found.
 */
export async function findShortest(limitMs: number, attempt: () => Promise<number>, tries = 30): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let n = 0; n < tries && best >= limitMs; n++) best = Math.min(best, await attempt());
  return best;
}

/**
 * Processor time of this thread in ms, independent of other processes and of garbage collection threads. On systems without a clock per thread, it is
 * that of the process.
 */
const spentMs = (): number => {
  // cpuUsage() makes the kernel update its count for this thread; otherwise the count is some milliseconds old.
  const { user, system } = process.cpuUsage();
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ")[0]) / 1e6;
  } catch {
    return (user + system) / 1_000;
  }
};

/** Processor time of this thread for some work, in ms. */
export async function measureCpuMs(work: () => unknown): Promise<number> {
  const at = spentMs();
  await work();
  return spentMs() - at;
}

/** Work similar to the measured code. Its fastest run takes `yardstickMs` on the machine on which the limits were set. */
function yardstick(): number {
  const seen = new Map<string, number>();
  let hash = 0;
  for (let n = 0; n < 8_000_000; n++) {
    hash = (Math.imul(hash, 31) + n) | 0;
    if (n % 256 === 0) seen.set(`${hash}`, n);
  }
  return hash + seen.size;
}
const yardstickMs = 14;

/**
 * The minimum processor time of several tries in ms, scaled to the machine on which the limit was set: a slower machine, or one whose caches are in
 * use, takes several times as long. The factor is measured right after a try above the limit.
 */
export function findMinCpuMs(limitMs: number, attempt: () => Promise<number>): Promise<number> {
  const scaled = async () => {
    const ms = await attempt();
    return ms < limitMs ? ms : ms / Math.max(1, (await measureCpuMs(yardstick)) / yardstickMs);
  };
  return findShortest(limitMs, scaled, 12);
}

/** Maximum processor time in ms for which some work blocks the event loop at once. */
export async function measureLongestBlockMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = spentMs();
  let timer: NodeJS.Immediate;
  const tick = () => {
    longest = Math.max(longest, spentMs() - last);
    last = spentMs();
    timer = setImmediate(tick);
  };
  timer = setImmediate(tick);
  await work();
  clearImmediate(timer);
  return Math.max(longest, spentMs() - last);
}

/** Elapsed time of some work, in ms. */
export async function measureElapsedMs(work: () => unknown): Promise<number> {
  const at = performance.now();
  await work();
  return performance.now() - at;
}

/** Maximum ratio of processor times for eight times the size, between 8 (linear work) and 64 (quadratic work). */
const linear = 24;

/** Whether eight times the size takes about eight times the processor time. Other work on the machine may delay some tries, but not all. */
export async function isLinear(size: number, work: (size: number) => unknown): Promise<boolean> {
  let few = Number.POSITIVE_INFINITY;
  const attempt = async () => {
    few = Math.min(few, await measureCpuMs(() => work(size)));
    return (await measureCpuMs(() => work(8 * size))) / few;
  };
  // The first try compiles the code and warms the caches.
  await attempt();
  return (await findShortest(linear, attempt, 10)) < linear;
}

/** Reads a figure until it has stopped changing for a while. */
export async function waitUntilStable(read: () => number): Promise<number> {
  for (let last = -1, same = 0; ; ) {
    const now = read();
    same = now === last ? same + 1 : 0;
    last = now;
    if (same === 10) return now;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
