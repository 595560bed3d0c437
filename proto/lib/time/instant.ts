/** Formats timestamps for answers. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";

/**
 * Formats a time as ISO 8601 with microseconds, the precision of the database, so two updates within a millisecond
 * stay distinguishable.
 */
export function instant(timestamp: Timestamp): string {
  const seconds = new Date(Number(timestamp.seconds) * 1_000).toISOString().slice(0, 19);
  const microseconds = String(Math.floor(timestamp.nanos / 1_000)).padStart(6, "0");
  return `${seconds}.${microseconds}Z`;
}
