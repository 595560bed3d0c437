/** Times as answers show them. */
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";

/** ISO 8601 with microseconds, which is what the database keeps: two updates in one millisecond can be told apart. */
export function instant(timestamp: Timestamp): string {
  const seconds = new Date(Math.floor(timestampMs(timestamp) / 1_000) * 1_000).toISOString().slice(0, 19);
  const microseconds = String(Math.floor(timestamp.nanos / 1_000)).padStart(6, "0");
  return `${seconds}.${microseconds}Z`;
}
