/** A time relative to now, with the full time on demand. */
import { formatRelativeTime, formatDateTime } from "./words.ts";

export const Time = ({ at }: { at: string }) => (
  <time dateTime={at} title={formatDateTime(at)}>
    {formatRelativeTime(at)}
  </time>
);
