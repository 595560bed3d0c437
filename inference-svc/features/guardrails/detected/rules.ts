/** The caller's guardrail rules for external detector services. */
import { categoryPlaceholder } from "@sluice/proto/contract/records/detector-rules.js";
import { actionOrBlock } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { Caller, DetectorRule } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { Detector } from "../../../services/detection/detector.ts";
import type { Detection } from "../../../services/detection/wire.ts";
import {
  type AppliedGuardrail,
  guardrailsFor,
  type ScannedSide,
  appliesToSide,
} from "../../../turn/applied-guardrails.ts";
import type { FilterRule } from "../filter-rules.ts";

/** The configured detectors, by id. */
export type DetectorMap = ReadonlyMap<string, Detector>;

/** The detector's properties for a dry run, which makes no calls. */
export type DetectorProfile = Pick<Detector, "engine" | "has" | "threshold" | "returnsSpans">;

export type DryDetectorMap = ReadonlyMap<string, DetectorProfile>;

export interface DetectedRule<Of extends DetectorProfile = Detector> extends Omit<FilterRule, "finder"> {
  readonly outage: string;
  readonly detector: Of;
  readonly category: string;
  /** Minimum score of a finding that counts. */
  readonly threshold: number;
}

export interface DetectedRules<Of extends DetectorProfile = Detector> {
  readonly rules: readonly DetectedRule<Of>[];
  /** Rules whose detector or category is missing from the configuration file. */
  readonly missing: readonly Omit<FilterRule, "finder">[];
}

export function buildDetectedRules<Of extends DetectorProfile>(
  caller: Caller,
  side: ScannedSide,
  detectors: ReadonlyMap<string, Of>,
): DetectedRules<Of> {
  const rules: DetectedRule<Of>[] = [];
  const missing: Omit<FilterRule, "finder">[] = [];
  for (const applied of guardrailsFor(caller)) {
    if (!appliesToSide(applied, side)) continue;
    for (const detectorRule of applied.guardrail.detectors) {
      const { category, threshold } = detectorRule;
      const detector = detectors.get(detectorRule.detector);
      const rule = buildRule(applied, detectorRule, detector);
      if (detector?.has(category) !== true) missing.push({ ...rule, outage: describeMissing(detectorRule, detector) });
      else rules.push({ ...rule, detector, category, threshold: threshold ?? detector.threshold });
    }
  }
  return { rules, missing };
}

const describeMissing = ({ detector: id, category }: DetectorRule, detector: DetectorProfile | undefined): string =>
  detector
    ? `the configuration file gives detector ${id} no category ${category}`
    : `the configuration file has no detector ${id}`;

function buildRule(
  applied: AppliedGuardrail,
  { detector: id, category, action, label }: DetectorRule,
  detector?: DetectorProfile,
) {
  return {
    ...applied,
    name: label || category,
    action: actionOrBlock(action),
    placeholder: label || categoryPlaceholder(category),
    engine: detector?.engine ?? `detector:${id}`,
    stage: "content-filter",
    userOnly: false,
    reads: detector?.returnsSpans === false ? "wholes" : "words",
    outage: `detector ${id} gave no answer`,
  } as const;
}

/** The findings of the rule's category with at least its threshold, in order of place; overlapping findings are merged. */
export function selectSpans(marks: readonly Detection[], { category, threshold }: DetectedRule): readonly TextSpan[] {
  const spans: { start: number; end: number }[] = [];
  const counted = marks.filter((mark) => mark.category === category && mark.score >= threshold);
  for (const { start, end } of counted.toSorted((a, b) => a.start - b.start)) {
    const last = spans.at(-1);
    if (last && start < last.end) last.end = Math.max(last.end, end);
    else spans.push({ start, end });
  }
  return spans;
}
