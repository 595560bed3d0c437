/** Merges overlapping matches of several rules into regions to be replaced. */
import type { Region } from "../../../../turn/replacements.ts";
import type { BoundedSpan } from "./bounded-scan.ts";
import type { OutputRule } from "./output-rules.ts";

export interface RuleHit extends BoundedSpan {
  readonly rule: OutputRule;
}

/** The regions in order. All overlapping matches are replaced together, with the placeholder of the longest one. */
export function mergeHits(hits: readonly RuleHit[]): readonly Region[] {
  const regions: Region[] = [];
  let group: RuleHit[] = [];
  let end = 0;
  const close = () => {
    const [first] = group;
    if (first) regions.push({ start: first.start, end, placeholder: choosePlaceholder(group) });
    group = [];
  };
  for (const hit of [...hits].sort(byStart)) {
    if (hit.start >= end && !(hit.continues && hit.start === end)) close();
    group.push(hit);
    end = group.length === 1 ? hit.end : Math.max(end, hit.end);
  }
  close();
  return regions;
}

/** Orders matches by start; a match that continues an already replaced region comes first. */
const byStart = (a: RuleHit, b: RuleHit): number =>
  a.start - b.start || Number(b.continues ?? false) - Number(a.continues ?? false);

function choosePlaceholder(group: readonly RuleHit[]): string {
  if (group[0]?.continues) return "";
  return group.reduce((best, hit) => (isPreferred(hit, best) ? hit : best)).rule.placeholder;
}

function isPreferred(hit: RuleHit, other: RuleHit): boolean {
  const longer = hit.end - hit.start - (other.end - other.start);
  if (longer !== 0) return longer > 0;
  return hit.start === other.start ? hit.rule.rank < other.rule.rank : hit.start < other.start;
}
