/** A time relative to now, with the full time on demand. */
import { since, wholeTime } from "./words.ts";

export const Time = ({ at }: { at: string }) => (
  <time dateTime={at} title={wholeTime(at)}>
    {since(at)}
  </time>
);
