/** The folders in which inference processes keep records until they are delivered, one for each, by its number. */
import { readdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { makePrivateFolder } from "@sluice/proto/runtime/private-folder.js";

export const spoolFolder = (dataDir: string, replica: number): string => join(dataDir, "spool", String(replica));

/** Names of inference-svc for files of records that wait. Records that admin-svc has refused have another one, and stay where an operator looks for them. */
const recordsFile = /^usage-.*\.log$/;

/**
 * Gives the first process the records that an earlier start with more processes has left, which nobody would deliver. It delivers them as it
 * delivers those of its own earlier starts; the name of a file has the start of its process, so that no two are the same.
 * @param count inference processes that will run; 0 where the gateway's process is the only one
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
