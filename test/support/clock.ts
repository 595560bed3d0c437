/** Claims about time that a slow machine cannot refute, and that code which waits for a timer cannot meet. */

import { readFileSync } from "node:fs";

/**
 * The shortest of several tries, in ms; the first below the limit is the last.
 * What else the machine does holds up some of them, a timer all: one that could bring the same about must be well above the limit.
 */
export async function shortest(limitMs: number, attempt: () => Promise<number>, tries = 30): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let n = 0; n < tries && best >= limitMs; n++) best = Math.min(best, await attempt());
  return best;
}

/**
 * Processor time of this thread, in ms: other processes, and threads that collect garbage, hold up nobody here. Where the system does not tell, that of
 * the process.
 */
const spentMs = (): number => {
  // Asked for first: it brings the kernel's count of this thread up to date, which is some milliseconds old otherwise.
  const { user, system } = process.cpuUsage();
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ")[0]) / 1e6;
  } catch {
    return (user + system) / 1_000;
  }
};

/** Processor time of this thread that something takes, in ms. */
export async function worked(work: () => unknown): Promise<number> {
  const at = spentMs();
  await work();
  return spentMs() - at;
}

/** Numbers and small objects, as the code does that is measured; on the machine that the limits were set on its fastest run takes as long as below. */
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
 * The shortest processor time of several tries, in ms, as it would be on the machine that the limit was set on: the same work takes several times as
 * long on a slower one, and on one whose caches others use. How much longer is measured right after a try that is above the limit.
 */
export function leastWork(limitMs: number, attempt: () => Promise<number>): Promise<number> {
  return shortest(limitMs, async () => {
    const ms = await attempt();
    if (ms < limitMs) return ms;
    let fastest = Number.POSITIVE_INFINITY;
    for (let n = 0; n < 3; n++) fastest = Math.min(fastest, await worked(yardstick));
    return ms / Math.max(1, fastest / yardstickMs);
  });
}

/** The most processor time, in ms, between two turns of the event loop while something is done. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
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

/** How long something takes, in ms. */
export async function took(work: () => unknown): Promise<number> {
  const at = performance.now();
  await work();
  return performance.now() - at;
}

/** Between eight, what linear work needs for eight times the size, and 64, what quadratic work needs. */
const linear = 24;

/** Whether eight times the size takes about eight times as much of the processor; what else the machine does may hold up some tries, not all. */
export async function isLinear(size: number, work: (size: number) => unknown): Promise<boolean> {
  let few = Number.POSITIVE_INFINITY;
  const attempt = async () => {
    few = Math.min(few, await worked(() => work(size)));
    return (await worked(() => work(8 * size))) / few;
  };
  // Compiled and warm before it counts.
  await attempt();
  return (await shortest(linear, attempt, 10)) < linear;
}

/** The figure once it has not moved for a while. */
export async function stalled(read: () => number): Promise<number> {
  for (let last = -1, same = 0; ; ) {
    const now = read();
    same = now === last ? same + 1 : 0;
    last = now;
    if (same === 10) return now;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
