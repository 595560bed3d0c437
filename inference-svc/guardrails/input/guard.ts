/** Looks at what is asked before anything of it goes anywhere: refuses it, takes out of it what shall not be seen, or reports. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { type Layer, onRequest } from "../../turn/turn.ts";
import { type Applied, appliedTo, isAudit } from "../../turn/applied.ts";
import { type Rule, failsOpen, looksAt, rulesOf } from "../policy.ts";
import { notApplicable } from "../not-applicable.ts";
import { type Deed, failureStage, namesOf, stagesOf } from "../stages.ts";
import { Breath } from "../../turn/breath.ts";
import { RequestTexts } from "./passages.ts";
import { type Tally, search } from "./search.ts";

export const inputGuardrails: Layer = onRequest(async (request, scope) => {
  const applied = appliedTo(scope.caller).filter((one) => looksAt(one, "input"));
  return applied.length === 0 ? request : guarded(request, scope, applied);
});

/** @throws Fault GUARDRAIL_BLOCKED; UNAVAILABLE when a guardrail that fails closed could not look */
async function guarded(request: TurnRequest, scope: Scope, applied: readonly Applied[]): Promise<TurnRequest> {
  const rules = applied.flatMap((one) => {
    const { rules: able, failures } = rulesOf(one);
    if (failures.length > 0) fail(one, scope, failures[0]);
    return able;
  });
  const texts = new RequestTexts(request);
  const breath = new Breath(scope.signal);
  const tally = await search(texts.passages(), rules, breath);
  const broken = new Map([...tally.failures].map(([rule, error]) => [rule.guardrail, { rule, error }]));
  for (const { rule, error } of broken.values()) fail(rule, scope, error);
  decide(tally, scope);
  return breath.through(texts.redacted());
}

/** @throws Fault UNAVAILABLE where texts that could not be looked at are refused */
function fail(applied: Applied, { trace }: Scope, cause: unknown): void {
  // Of patterns the guardrail as a whole has not looked.
  trace.stages.push(failureStage({ guardrail: applied.guardrail, scope: applied.scope }));
  if (!failsOpen(applied)) throw notApplicable(cause);
}

/** @throws Fault GUARDRAIL_BLOCKED */
export function decide({ counts, stuck }: Tally, { trace }: Scope): void {
  const deedOf = ({ action }: Rule, isStuck: boolean): Deed => {
    if (action === "flag") return "flagged";
    return action === "block" || isStuck ? "blocked" : "redacted";
  };
  const deed = (rule: Rule) => deedOf(rule, stuck.has(rule));
  const blocking = [...counts.keys()].filter((rule) => deed(rule) === "blocked" && !isAudit(rule));
  // What is refused is not redacted.
  const done = blocking.length === 0 ? counts : new Map([...counts].filter(([rule]) => deed(rule) !== "redacted"));
  trace.stages.push(...stagesOf(done, deed));
  const [first] = blocking;
  if (first === undefined) return;
  const patterns = namesOf(blocking);
  const message =
    first.stage === "regex_pi_detection"
      ? "Request blocked: prompt injection patterns detected"
      : `Request blocked by content filter: ${first.name}`;
  throw new Fault(FaultReason.GUARDRAIL_BLOCKED, message, { origin: FaultOrigin.CLIENT, metadata: { patterns } });
}
