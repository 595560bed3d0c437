/** Layers that scan answers with guardrail rules. Nothing is scanned for callers without rules for answers. */
import type { Scope } from "../../../turn/scope.ts";
import type { Layer } from "../../../turn/turn.ts";
import type { ScanExtent } from "./answer-scan.ts";
import { OutputGuard } from "./output-guard.ts";
import { Report } from "./rules/report.ts";
import { type OutputRule, divideRules, buildOutputRules } from "./rules/output-rules.ts";

/**
 * @param extent the text scanned together
 * @param rulesOf returns the rules; throws Fault when a rule cannot be applied and its guardrail fails closed
 */
export const outputGuardLayer =
  (extent: ScanExtent, rulesOf: (scope: Scope, report: Report) => readonly OutputRule[]): Layer =>
  (next) =>
  (request, scope) => {
    const report = new Report(scope.trace.matches);
    let rules: readonly OutputRule[];
    try {
      rules = rulesOf(scope, report);
    } catch (error) {
      scope.trace.stages.push(...report.stages());
      throw error;
    }
    if (rules.length > 0) return new OutputGuard({ rules, scope, report, extent, begin: () => next(request, scope) });
    scope.trace.stages.push(...report.stages());
    return next(request, scope);
  };

const buildEnforcedRules = (scope: Scope, report: Report) =>
  divideRules(buildOutputRules(scope.caller, report)).enforced;

export const outputGuardrails: Layer = outputGuardLayer("answer", ({ caller }, report) =>
  buildOutputRules(caller, report),
);

/**
 * Scans items Sluice composes from answers of models. Rules that only report are left out, because the matches in those
 * answers are already reported.
 */
export const enforcedGuardrails: Layer = outputGuardLayer("items", buildEnforcedRules);

/**
 * Scans the joined texts of several answers for one client. Rules that only report are left out, because each answer
 * was already scanned by itself.
 */
export const joinedTextGuardrails: Layer = outputGuardLayer("texts", buildEnforcedRules);
