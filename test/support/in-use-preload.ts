/**
 * Loaded into the processes of an installation by `--import`, with a folder as its query. On SIGUSR2, a process collects its garbage and writes its
 * memory in use into that folder.
 */
import { renameSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { join } from "node:path";

/** The contents of `<folder>/<pid>.json`. */
export interface InUse {
  /** Number of signals so far. */
  readonly number: number;
  readonly heapBytes: number;
  /** Bytes of buffers and of other C++ memory that V8 knows, without that of sockets. */
  readonly externalBytes: number;
  /** Number of handles that keep the process from ending, by kind in process.getActiveResourcesInfo. */
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
    // The inspector collects all garbage; `gc()` would leave some for later, such as tens of MiB after a few hundred streams, which would look like
    // memory in use.
    session.post("HeapProfiler.collectGarbage", () => {
      write(path);
      // A disconnect inside of the answer to a command would never return.
      setImmediate(() => session.disconnect());
    });
  });
}
