/** Folders for the records of inference processes until they are delivered: one for each process, by its number. */
import { existsSync, readdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { deliveredFolder, parseDeliveryMark, parseSpoolFileName } from "@sluice/proto/lib/ledger/spool-files.js";
import { makePrivateFolder } from "@sluice/proto/lib/process/private-folder.js";

/** The folder of the spool folders of all processes. */
export const spoolsIn = (dataDir: string): string => join(dataDir, "spool");

export const spoolFolder = (dataDir: string, replica: number): string => join(spoolsIn(dataDir), String(replica));

/**
 * Gives the first process the records left by processes of an earlier start, if there are fewer processes now. It delivers them like its own;
 * names of files contain the start of their process, so no two are the same.  @param count number of inference processes; 0 if inference-svc runs in
 * the gateway's process
 */
export function adoptSpools(dataDir: string, count: number): void {
  const heir = spoolFolder(dataDir, 0);
  makePrivateFolder(heir);
  const replicas = readdirSync(dirname(heir)).map(Number);
  for (const replica of replicas.filter((number) => number >= Math.max(1, count))) {
    const folder = spoolFolder(dataDir, replica);
    moveRecords(folder, heir);
    const delivered = join(folder, deliveredFolder);
    if (!existsSync(delivered)) continue;
    makePrivateFolder(join(heir, deliveredFolder));
    moveRecords(delivered, join(heir, deliveredFolder));
  }
}

/** Moves undelivered records to another spool folder. Records refused by admin-svc have other names, and stay for the operator to find. */
function moveRecords(folder: string, heir: string): void {
  const names = readdirSync(folder);
  const isMark = (name: string): boolean => parseDeliveryMark(name) !== undefined;
  // Delivery marks are moved first: a file without its mark would be delivered again.
  const moved = [...names.filter(isMark), ...names.filter((name) => parseSpoolFileName(name) !== undefined)];
  for (const file of moved) renameSync(join(folder, file), join(heir, file));
}
