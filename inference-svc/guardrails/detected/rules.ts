/** Rules of services beside the house that a request is under. */
import { categoryPlaceholder } from "@sluice/proto/contract/detector-rules.js";
import { filterActions } from "@sluice/proto/contract/guardrail-words.js";
import type { Caller, DetectorRule } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { Detector } from "../../internal/detection/detector.ts";
import type { Mark } from "../../internal/detection/mark.ts";
import { type Applied, appliedTo } from "../../turn/applied.ts";
import { type Rule, type Side, covers } from "../policy.ts";

/** By id. */
export type DetectorMap = ReadonlyMap<string, Detector>;

export interface DetectedRule extends Omit<Rule, "finder"> {
  readonly outage: string;
  readonly detector: Detector;
  readonly category: string;
  /** The score from which on something counts as found. */
  readonly threshold: number;
}

export interface DetectedRules {
  readonly rules: readonly DetectedRule[];
  /** Those for which the house has nobody to ask. */
  readonly missing: readonly Omit<Rule, "finder">[];
}

export function detectedRules(caller: Caller, side: Side, detectors: DetectorMap): DetectedRules {
  const rules: DetectedRule[] = [];
  const missing: Omit<Rule, "finder">[] = [];
  for (const applied of appliedTo(caller)) {
    if (!covers(applied, side)) continue;
    for (const said of applied.guardrail.detectors) {
      const { category, threshold } = said;
      const detector = detectors.get(said.detector);
      const rule = ruleOf(applied, said, detector);
      if (detector?.has(category) !== true) missing.push({ ...rule, outage: absence(said, detector) });
      else rules.push({ ...rule, detector, category, threshold: threshold ?? detector.threshold });
    }
  }
  return { rules, missing };
}

const absence = ({ detector: id, category }: DetectorRule, detector: Detector | undefined): string =>
  detector ? `the house file gives detector ${id} no category ${category}` : `the house file has no detector ${id}`;

/** Block is also what an action of a newer admin-svc is taken for: it is not ours to pass over. */
function ruleOf(applied: Applied, { detector: id, category, action, label }: DetectorRule, detector?: Detector) {
  return {
    ...applied,
    name: label || category,
    action: filterActions.wordOf(action) ?? "block",
    placeholder: label || categoryPlaceholder(category),
    engine: detector?.engine ?? `detector:${id}`,
    stage: "content-filter",
    userOnly: false,
    reads: detector?.tellsPlaces === false ? "wholes" : "words",
    outage: `detector ${id} gave no answer`,
  } as const;
}

/** What of the marks in a text counts for the rule: in order, those that overlap as one. */
export function spansOf(marks: readonly Mark[], { category, threshold }: DetectedRule): readonly Span[] {
  const spans: { start: number; end: number }[] = [];
  const counted = marks.filter((mark) => mark.category === category && mark.score >= threshold);
  for (const { start, end } of counted.toSorted((a, b) => a.start - b.start)) {
    const last = spans.at(-1);
    if (last && start < last.end) last.end = Math.max(last.end, end);
    else spans.push({ start, end });
  }
  return spans;
}
