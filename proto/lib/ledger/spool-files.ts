/** Names of the files of records that processes keep until, and for some time after, their delivery. */

/** Folder beside the files of a process, with those already delivered. */
export const deliveredFolder = "delivered";

/**
 * Name of a file: start of its process, process, number. Version 0.1.0 wrote names without `v2` and ignores names with it, so a rollback
 * removes no file it cannot read. The order of names is the order of writing.
 */
const fileName = /^usage-(\d{13})-([0-9a-f-]{36})-(\d{6})(?:\.v2)?\.log$/;

export interface SpoolFileName {
  /** Start of the process by its clock, milliseconds. */
  readonly startedAtMs: number;
  readonly bootId: string;
  /** Counted from 1 for each start of a process. */
  readonly number: number;
}

/** @returns undefined for any other file */
export function parseSpoolFileName(name: string): SpoolFileName | undefined {
  const [, startedAt, bootId = "", number] = fileName.exec(name) ?? [];
  return startedAt === undefined ? undefined : { startedAtMs: Number(startedAt), bootId, number: Number(number) };
}

const markSuffix = ".delivered";

/** The file beside a file of records that says how far that one is delivered. */
export const deliveryMarkOf = (path: string): string => `${path}${markSuffix}`;

/** @returns the name of the file that the mark is about; undefined for any other file */
export function parseDeliveryMark(name: string): string | undefined {
  const about = name.endsWith(markSuffix) ? name.slice(0, -markSuffix.length) : "";
  return parseSpoolFileName(about) && about;
}
