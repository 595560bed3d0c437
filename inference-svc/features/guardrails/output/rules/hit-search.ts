/** Hits, or the generator to find them: most texts need no pause, and a generator for each costs more than the scan. */
import type { Yielding } from "../../../../turn/time-slice.ts";
import type { RuleHit } from "./merge-hits.ts";

export type HitSearch = readonly RuleHit[] | Yielding<readonly RuleHit[]>;

export const isFinishedSearch = (search: HitSearch): search is readonly RuleHit[] => Array.isArray(search);

/** Finds what is not found yet. */
export function* finishSearch(search: HitSearch): Yielding<readonly RuleHit[]> {
  return isFinishedSearch(search) ? search : yield* search;
}
