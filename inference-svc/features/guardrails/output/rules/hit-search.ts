/**
 * A search for matches: the matches themselves, or a generator to run. Most texts need no pause, and a generator for
 * each would cost more than the scan.
 */
import type { Yielding } from "../../../../turn/time-slice.ts";
import type { RuleHit } from "./merge-hits.ts";

export type HitSearch = readonly RuleHit[] | Yielding<readonly RuleHit[]>;

export const isFinishedSearch = (search: HitSearch): search is readonly RuleHit[] => Array.isArray(search);

/** Runs the search to its end. */
export function* finishSearch(search: HitSearch): Yielding<readonly RuleHit[]> {
  return isFinishedSearch(search) ? search : yield* search;
}
