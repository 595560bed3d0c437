/** Loaded into the processes of the house: when told to, they collect their garbage and write down what is still in use. */
import { renameSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { join } from "node:path";

/** The contents of `<SLUICE_SOAK_READINGS>/<pid>.json`, which a process writes on a signal. */
export interface Inside {
  /** Goes up by one with each signal. */
  readonly number: number;
  readonly heapBytes: number;
  /** Memory outside of the heap that objects of the heap keep, such as buffers. */
  readonly externalBytes: number;
  /** Number of handles that keep the process from ending, by their kind in process.getActiveResourcesInfo. */
  readonly resources: Readonly<Record<string, number>>;
}

const folder = process.env["SLUICE_SOAK_READINGS"];
let number = 0;

function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function write(path: string): void {
  const { heapUsed: heapBytes, external: externalBytes } = process.memoryUsage();
  const inside: Inside = { number: ++number, heapBytes, externalBytes, resources: resources() };
  writeFileSync(`${path}.new`, JSON.stringify(inside));
  renameSync(`${path}.new`, path);
}

if (folder !== undefined) {
  const path = join(folder, `${process.pid}.json`);
  const session = new Session();
  session.connect();
  // All garbage: what `gc()` leaves for later, such as tens of MiB after a few hundred streams, would pass for a leak.
  process.on("SIGUSR2", () => session.post("HeapProfiler.collectGarbage", () => write(path)));
}
