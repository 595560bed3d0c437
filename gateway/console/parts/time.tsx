/** A time relative to now; the tooltip shows the full time. */
import { formatRelativeTime, formatDateTime } from "./words.ts";

export const Time = ({ at }: { at: string }) => (
  <time dateTime={at} title={formatDateTime(at)}>
    {formatRelativeTime(at)}
  </time>
);
