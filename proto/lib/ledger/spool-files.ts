/** Names of spool files, in which processes keep usage records until their delivery, and for some time after it. */

/** Name of the folder, within that of the spool files, for files already delivered. */
export const deliveredFolder = "delivered";

/**
 * Name of a spool file: start time of the process, boot id, number of the file. Version 0.1.0 wrote names without `v2`
 * and ignores names with it, so after a rollback it removes no file that it cannot read. The order of names is the
 * order of writing.
 */
const fileName = /^usage-(\d{13})-([0-9a-f-]{36})-(\d{6})(?:\.v2)?\.log$/;

export interface SpoolFileName {
  /** Start of the process by its clock, in milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly bootId: string;
  /** Number of the file, from 1 for each start of a process. */
  readonly number: number;
}

/** Parses the name of a spool file. @returns undefined for any other file */
export function parseSpoolFileName(name: string): SpoolFileName | undefined {
  const [, startedAt, bootId = "", number] = fileName.exec(name) ?? [];
  return startedAt === undefined ? undefined : { startedAtMs: Number(startedAt), bootId, number: Number(number) };
}

const markSuffix = ".delivered";

/** Name of the file that records how far a spool file is delivered. */
export const deliveryMarkOf = (path: string): string => `${path}${markSuffix}`;

/** @returns the name of the spool file to which a delivery mark belongs; undefined for any other file */
export function parseDeliveryMark(name: string): string | undefined {
  const about = name.endsWith(markSuffix) ? name.slice(0, -markSuffix.length) : "";
  return parseSpoolFileName(about) && about;
}
