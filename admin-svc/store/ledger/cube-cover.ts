/** Divides a period into hours and days that are read from the usage cube, and times that are read from the ledger. */
import { type Kysely, sql } from "kysely";
import type { Database } from "../database.ts";

/** A time range; `to` is not included. */
export interface Times {
  readonly from: Date;
  readonly to: Date;
}

/** The parts of a period by the source of their sums: hours and days in the usage cube, all other times in the ledger. */
export interface Cover {
  /** Starts of the days, and of the hours, to read from the cube. */
  readonly days: readonly Date[];
  readonly hours: readonly Date[];
  /**
   * Time ranges covered by the cube. The ledger may have late rows in them that the cube lacks: rows with a number
   * (`written`) from `folded` on.
   */
  readonly closed: readonly Times[];
  readonly folded: string;
  /** The cube has all rows from before this time. */
  readonly foldedUntil: Date;
  /** Time ranges to read from the ledger. */
  readonly open: readonly Times[];
}

export interface CoverQuery extends Times {
  /** Length of the intervals into which the sums are divided; `all` means one sum for the period. */
  readonly step: "hour" | "day" | "all";
  /** Whether to count calls in the period whose turn began up to a day before or after it. */
  readonly withCalls: boolean;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * Finds the cover of a period; undefined when the cube has no part of the period. Read the cube in the same snapshot.
 */
export async function findCover(database: Kysely<Database>, query: CoverQuery): Promise<Cover | undefined> {
  const { from, to, withCalls } = query;
  const aroundMs = withCalls ? dayMs : 0;
  const [first, last] = [from.getTime() - aroundMs, to.getTime() + aroundMs];
  const { rows } = await sql<{ folded: string; folded_until: Date | null; days: Numbers; hours: Numbers }>`
    with known as (
      select *, extract(epoch from period)::float8 * 1000 as ms from usage_cube_periods
      where period > to_timestamp(${first / 1000 - 86_400}) and period < to_timestamp(${last / 1000}) and is_stored
    )
    select folded::text, case when isfinite(from_day) then from_day::timestamp at time zone 'UTC' end as folded_until,
      array(select ms from known where is_day) as days, array(select ms from known where not is_day) as hours
    from ledger_progress where is_cubed`.execute(database);
  const [progress] = rows;
  if (progress === undefined) return undefined;
  const parts = divide(query, [first, last], new Set(progress.days), new Set(progress.hours));
  if (parts.days.length + parts.hours.length === 0) return undefined;
  return { ...parts, folded: progress.folded, foldedUntil: progress.folded_until ?? new Date(0) };
}

type Numbers = readonly number[];

/**
 * Chooses the source for each day and hour. The cube serves a day or hour entirely inside the period; outside of the
 * period it serves only the calls that reach into the period.
 */
function divide(
  { from, to, step }: CoverQuery,
  [first, last]: readonly [number, number],
  days: ReadonlySet<number>,
  hours: ReadonlySet<number>,
): Pick<Cover, "days" | "hours" | "closed" | "open"> {
  const isInside = (at: number, size: number) => at >= from.getTime() && at + size <= to.getTime();
  const isOutside = (at: number, size: number) => at >= to.getTime() || at + size <= from.getTime();
  const found = { days: [] as Date[], hours: [] as Date[], closed: [] as Times[], open: [] as Times[] };
  const add = (list: Times[], at: number, size: number) => {
    const [begin, end] = [Math.max(at, first), Math.min(at + size, last)];
    const before = list.at(-1);
    if (before?.to.getTime() === begin) list[list.length - 1] = { from: before.from, to: new Date(end) };
    else if (begin < end) list.push({ from: new Date(begin), to: new Date(end) });
  };
  for (let day = Math.floor(first / dayMs) * dayMs; day < last; day += dayMs) {
    if (days.has(day) && (isOutside(day, dayMs) || (step !== "hour" && isInside(day, dayMs)))) {
      found.days.push(new Date(day));
      add(found.closed, day, dayMs);
      continue;
    }
    for (
      let hour = Math.max(day, Math.floor(first / hourMs) * hourMs);
      hour < Math.min(day + dayMs, last);
      hour += hourMs
    ) {
      const isClosed = hours.has(hour) && (isInside(hour, hourMs) || isOutside(hour, hourMs));
      if (isClosed) found.hours.push(new Date(hour));
      add(isClosed ? found.closed : found.open, hour, hourMs);
    }
  }
  return found;
}

/** Cuts time ranges to the part inside another range. */
export const within = (times: readonly Times[], { from, to }: Times): readonly Times[] =>
  times
    .map((each) => ({
      from: new Date(Math.max(each.from.getTime(), from.getTime())),
      to: new Date(Math.min(each.to.getTime(), to.getTime())),
    }))
    .filter((each) => each.from < each.to);
