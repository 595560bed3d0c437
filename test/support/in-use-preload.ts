/**
 * Loaded into the processes of an installation by `--import`, with a folder as its query: on SIGUSR2 a process collects its garbage and writes
 * its memory still in use there.
 */
import { renameSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { join } from "node:path";

/** The contents of `<folder>/<pid>.json`. */
export interface InUse {
  /** Goes up by one with each signal. */
  readonly number: number;
  readonly heapBytes: number;
  /** Contents of buffers, and other C++ memory reported to V8, without that for sockets. */
  readonly externalBytes: number;
  /** Number of handles keeping the process from ending, by their kind in process.getActiveResourcesInfo. */
  readonly resources: Readonly<Record<string, number>>;
}

let number = 0;

function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function write(path: string): void {
  const { heapUsed: heapBytes, external: externalBytes } = process.memoryUsage();
  const inUse: InUse = { number: ++number, heapBytes, externalBytes, resources: resources() };
  writeFileSync(`${path}.new`, JSON.stringify(inUse));
  renameSync(`${path}.new`, path);
}

const folder = new URL(import.meta.url).searchParams.get("folder");
if (folder !== null) {
  const path = join(folder, `${process.pid}.json`);
  const session = new Session();
  process.on("SIGUSR2", () => {
    session.connect();
    // All garbage: `gc()` leaves some for later, such as tens of MiB after a few hundred streams, which would pass for memory in use.
    session.post("HeapProfiler.collectGarbage", () => {
      write(path);
      // A disconnect inside of the answer to a command never returns.
      setImmediate(() => session.disconnect());
    });
  });
}
