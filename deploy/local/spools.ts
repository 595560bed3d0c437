/** The folders for records of inference processes until they are delivered: one per process, by its number. */
import { readdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { makePrivateFolder } from "@sluice/proto/lib/process/private-folder.js";

export const spoolFolder = (dataDir: string, replica: number): string => join(dataDir, "spool", String(replica));

/** File names of inference-svc for waiting records. Records refused by admin-svc have another name, and stay for the operator to find. */
const recordsFile = /^usage-.*\.log$/;

/**
 * Gives the first process the undelivered records of an earlier start with more processes. It delivers them like those of its own earlier starts; a file
 * name includes the start of its process, so no two are the same.
 * @param count number of inference processes; 0 when inference runs in the gateway's process
 */
export function adoptSpools(dataDir: string, count: number): void {
  const heir = spoolFolder(dataDir, 0);
  makePrivateFolder(heir);
  const replicas = readdirSync(dirname(heir)).map(Number);
  for (const replica of replicas.filter((number) => number >= Math.max(1, count))) {
    const folder = spoolFolder(dataDir, replica);
    for (const file of readdirSync(folder).filter((name) => recordsFile.test(name)))
      renameSync(join(folder, file), join(heir, file));
  }
}
