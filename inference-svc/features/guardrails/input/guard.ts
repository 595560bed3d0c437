/** Scans a request before any of it leaves the process; then blocks it, redacts it or only reports the matches. */
import { filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { PluginTexts } from "../../../turn/feature.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import { requestLayer } from "../../../turn/layer-builders.ts";
import type { Layer } from "../../../turn/turn.ts";
import { type AppliedGuardrail, guardrailsFor, isAudit, hasFiltersFor } from "../../../turn/applied-guardrails.ts";
import { type FilterRule, failsOpen, buildRules } from "../filter-rules.ts";
import { buildBlockFault } from "../block-fault.ts";
import { guardrailUnavailable } from "../not-applicable.ts";
import { buildFailureStage, buildStages } from "../receipt-stages.ts";
import { TimeSlice } from "../../../turn/time-slice.ts";
import { RequestTexts } from "./request-texts.ts";
import { type ScanResults, searchTexts } from "./search.ts";

export const inputGuardrails = (pluginTexts: readonly PluginTexts[]): Layer =>
  requestLayer((request, scope) => {
    const applied = guardrailsFor(scope.caller).filter((one) => hasFiltersFor(one, "input"));
    return applied.length === 0 ? request : guarded(new RequestTexts(request, pluginTexts), scope, applied);
  });

/** Scans and redacts the request. @throws Fault GUARDRAIL_BLOCKED; UNAVAILABLE when a rule fails and its guardrail fails closed */
async function guarded(texts: RequestTexts, scope: Scope, applied: readonly AppliedGuardrail[]): Promise<TurnRequest> {
  const rules = applied.flatMap((one) => {
    const { rules: able, failures } = buildRules(one);
    if (failures.length > 0) fail(one, scope, failures[0]);
    return able;
  });
  const timeSlice = new TimeSlice(scope.signal);
  const tally = await searchTexts(texts.scanUnits(), rules, timeSlice, scope.trace.matches);
  const broken = new Map([...tally.failures].map(([rule, error]) => [rule.guardrail, { rule, error }]));
  for (const { rule, error } of broken.values()) fail(rule, scope, error);
  enforceResults(tally, scope);
  return timeSlice.run(texts.redacted());
}

/** Records a failed guardrail. @throws Fault UNAVAILABLE when the guardrail fails closed */
function fail(applied: AppliedGuardrail, { trace }: Scope, cause: unknown): void {
  // A failed pattern counts as a failure of its whole guardrail.
  trace.stages.push(buildFailureStage({ guardrail: applied.guardrail, scope: applied.scope }));
  if (!failsOpen(applied)) throw guardrailUnavailable(cause);
}

/** Applies the actions of the matched rules. @throws Fault GUARDRAIL_BLOCKED */
export function enforceResults({ counts, unredactable }: ScanResults, { trace }: Scope): void {
  const actionOf = (rule: FilterRule) => (unredactable.has(rule) ? filterActions.of("block") : rule.action);
  const blocking = [...counts.keys()].filter((rule) => actionOf(rule).stops && !isAudit(rule));
  // A blocked request is not redacted, so its redactions are not reported.
  const done = blocking.length === 0 ? counts : new Map([...counts].filter(([rule]) => !actionOf(rule).redacts));
  trace.stages.push(...buildStages(done, actionOf));
  const [first] = blocking;
  if (first === undefined) return;
  const message =
    first.stage === "regex_pi_detection"
      ? "Request blocked: prompt injection patterns detected"
      : `Request blocked by content filter: ${first.name}`;
  throw buildBlockFault(message, blocking);
}
