/** The layers for scanning answers with the guardrails' rules. Callers without rules for answers skip their work. */
import type { Scope } from "../../../turn/scope.ts";
import type { Layer } from "../../../turn/turn.ts";
import type { ScanExtent } from "./answer-scan.ts";
import { OutputGuard } from "./output-guard.ts";
import { Report } from "./rules/report.ts";
import { type OutputRule, divideRules, buildOutputRules } from "./rules/output-rules.ts";

/**
 * @param extent how much of an answer is scanned as one text
 * @param rulesOf throws Fault when a rule cannot be applied and its guardrail fails closed
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

/** Scans items that Sluice composes from answers of models. Their matches are already reported, so report-only rules are left out. */
export const enforcedGuardrails: Layer = outputGuardLayer("items", buildEnforcedRules);

/** Scans the joined texts of several answers for one client; report-only rules are left out. */
export const joinedTextGuardrails: Layer = outputGuardLayer("texts", buildEnforcedRules);
