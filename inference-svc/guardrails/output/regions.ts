/** What is replaced in a text, when several rules find something in the same place. */
import type { Region } from "../../turn/replaced.ts";
import type { BoundedSpan } from "./bounded.ts";
import type { OutputRule } from "./rules.ts";

export interface Hit extends BoundedSpan {
  readonly rule: OutputRule;
}

/** Nothing of any hit stays; the longest of those that overlap says what stands there instead. In order. */
export function regionsOf(hits: readonly Hit[]): readonly Region[] {
  const regions: Region[] = [];
  let group: Hit[] = [];
  let end = 0;
  const close = () => {
    const [first] = group;
    if (first) regions.push({ start: first.start, end, placeholder: placeholderOf(group) });
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

/** What goes on with what was replaced before comes first. */
const byStart = (a: Hit, b: Hit): number =>
  a.start - b.start || Number(b.continues ?? false) - Number(a.continues ?? false);

function placeholderOf(group: readonly Hit[]): string {
  if (group[0]?.continues) return "";
  return group.reduce((best, hit) => (isPreferred(hit, best) ? hit : best)).rule.placeholder;
}

function isPreferred(hit: Hit, other: Hit): boolean {
  const longer = hit.end - hit.start - (other.end - other.start);
  if (longer !== 0) return longer > 0;
  return hit.start === other.start ? hit.rule.rank < other.rule.rank : hit.start < other.start;
}
