/** Loaded into the processes of the house: when told to, they collect their garbage and write down what is still in use. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
// Its listener comes before the one below: what is written is what is left.
import "../bench/roles/collect.ts";

/** What a process writes to `<SLUICE_SOAK_READINGS>/<pid>.json`. */
export interface Inside {
  /** Goes up by one with each signal. */
  readonly number: number;
  readonly heapBytes: number;
  /** By kind, as process.getActiveResourcesInfo names them: what keeps the process from ending. */
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
  const inside: Inside = { number: ++number, heapBytes: process.memoryUsage().heapUsed, resources: resources() };
  writeFileSync(`${path}.new`, JSON.stringify(inside));
  renameSync(`${path}.new`, path);
}

if (folder !== undefined) process.on("SIGUSR2", () => write(join(folder, `${process.pid}.json`)));
