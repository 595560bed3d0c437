/**
 * A measurement window: the differences between its beginning and its end. It is measured in the process that counts, so no message between
 * processes skews it.
 */
import { cpus } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { busyNs, familyOf, nsSince, machineClockMs, threadCpuNs } from "../../../support/machine.ts";

export interface WindowOptions {
  readonly windowMs: number;
  /** Ids of processes to report individually. */
  readonly watched: readonly number[];
  /** Id of the run's first process. Processes that it did not start count as foreign. */
  readonly root: number;
}

export interface ResourceUse {
  readonly durationMs: number;
  readonly watchedNs: readonly number[];
  /** Share of the machine used by processes outside of the run. */
  readonly foreignShare: number;
}

interface Snapshot {
  readonly atMs: number;
  readonly watched: readonly ReadonlyMap<string, number>[];
  readonly busyNs: number;
  readonly own: ReadonlyMap<number, ReadonlyMap<string, number>>;
}

function snapshot({ watched, root }: WindowOptions): Snapshot {
  const own = new Map(familyOf(root).map((pid) => [pid, threadCpuNs(pid)]));
  return { own, busyNs: busyNs(), watched: watched.map(threadCpuNs), atMs: machineClockMs() };
}

/** @param boundary called at the very beginning of the window and at its very end */
export async function measureWindow(options: WindowOptions, boundary: () => void): Promise<ResourceUse> {
  const before = snapshot(options);
  boundary();
  await delay(options.windowMs);
  boundary();
  const watchedNs = options.watched.map((pid, index) => nsSince(pid, before.watched[index]));
  const after = snapshot(options);
  const durationMs = after.atMs - before.atMs;
  let own = 0;
  for (const pid of after.own.keys()) own += nsSince(pid, before.own.get(pid));
  const foreign = after.busyNs - before.busyNs - own;
  return {
    durationMs,
    watchedNs,
    // The share is of all processors, although this process may be pinned to one.
    foreignShare: Math.max(0, foreign / (durationMs * 1e6 * cpus().length)),
  };
}
