/**
 * Scans answers with external detector services, after rules with patterns have redacted their matches. Nothing is
 * scanned for callers without such rules.
 */
import type { Scope } from "../../../turn/scope.ts";
import type { Layer } from "../../../turn/turn.ts";
import { guardrailUnavailable } from "../not-applicable.ts";
import { outputGuardLayer } from "../output/layer.ts";
import { failsOpen } from "../filter-rules.ts";
import type { Report } from "../output/rules/report.ts";
import {
  type DetectedRule,
  type DetectorMap,
  type DetectorProfile,
  type DryDetectorMap,
  buildDetectedRules,
} from "./rules.ts";
import { SentenceScan } from "./sentence-scan.ts";

export const detectorOutputLayer = (detectors: DetectorMap): Layer =>
  // Each item is scanned by itself: a detector must see all of a text before the text ends.
  outputGuardLayer("items", (scope, report) =>
    configuredRules(scope, report, detectors).map((rule, rank) => ({
      ...rule,
      rank,
      finder: { open: () => new SentenceScan(rule, scope) },
    })),
  );

/** Layer for a dry run: refuses a missing detector as a turn would, and scans nothing, since there is no answer. */
export const dryDetectorOutputLayer = (detectors: DryDetectorMap): Layer =>
  outputGuardLayer("items", (scope, report) => {
    configuredRules(scope, report, detectors);
    return [];
  });

/** The rules whose detectors are configured. @throws Fault UNAVAILABLE when a rule fails closed and its detector is not configured */
function configuredRules<Of extends DetectorProfile>(
  scope: Scope,
  report: Report,
  detectors: ReadonlyMap<string, Of>,
): readonly DetectedRule<Of>[] {
  const { rules, missing } = buildDetectedRules(scope.caller, "output", detectors);
  for (const rule of missing) report.addFailure(rule);
  const closed = missing.find((rule) => !failsOpen(rule));
  if (closed) throw guardrailUnavailable(new Error(closed.outage));
  return rules;
}
