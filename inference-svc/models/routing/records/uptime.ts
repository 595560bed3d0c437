/** Share of successful attempts at an endpoint, over five minutes, half an hour and a day. */
import { RollingCounts } from "./rolling-counts.ts";

const wentWell = 0;
const failed = 1;

/** Number of slots and their milliseconds for each span; a span is exact to within a thirtieth of itself. */
const spans = { fiveMinutes: [30, 10_000], halfHour: [30, 60_000], day: [96, 900_000] } as const;
export type UptimeSpan = keyof typeof spans;

const countsOf = ([slots, ms]: readonly [number, number]): RollingCounts => new RollingCounts(2, slots, ms);

export class Uptime {
  readonly #counts = {
    fiveMinutes: countsOf(spans.fiveMinutes),
    halfHour: countsOf(spans.halfHour),
    day: countsOf(spans.day),
  };

  /** @param well whether the attempt succeeded @param now time in milliseconds; never earlier than in the call before */
  add(well: boolean, now: number): void {
    const outcome = well ? wentWell : failed;
    this.#counts.fiveMinutes.add(outcome, now);
    this.#counts.halfHour.add(outcome, now);
    this.#counts.day.add(outcome, now);
  }

  /** Percentage of successful attempts, 0 to 100; undefined when no attempt ended in the span. */
  percent(span: UptimeSpan, now: number): number | undefined {
    const counts = this.#counts[span].sum(now);
    const all = counts[wentWell]! + counts[failed]!;
    return all === 0 ? undefined : (100 * counts[wentWell]!) / all;
  }
}
