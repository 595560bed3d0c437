/** The rules that look at what comes back, of all guardrails that a key is under. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { pieceLengthOf } from "@sluice/proto/runtime/pattern/finder.js";
import { appliedTo, isAudit } from "../../turn/applied.ts";
import { notApplicable } from "../not-applicable.ts";
import { type Rule, failsOpen, looksAt, rulesOf } from "../policy.ts";
import type { Report } from "./report.ts";

export interface OutputRule extends Rule {
  /** Of matches as long as each other, the one of the lower rank says what stands there. */
  readonly rank: number;
}

export interface OutputRules {
  /** They change what is delivered. */
  readonly enforced: readonly OutputRule[];
  /** They only report. */
  readonly reporting: readonly OutputRule[];
}

/**
 * None when no guardrail looks at the output.
 * @throws Fault UNAVAILABLE for a rule that cannot be applied, unless its guardrail lets pass what it could not look at; reported either way
 */
export function outputRules(caller: Caller, report: Report): readonly OutputRule[] {
  const applied = appliedTo(caller).filter((one) => looksAt(one, "output"));
  const rules = applied.flatMap((one) => {
    const { rules: able, failures } = rulesOf(one);
    if (failures.length > 0) report.failed(one);
    if (failures.length > 0 && !failsOpen(one)) throw notApplicable(failures[0]);
    return able.filter(({ userOnly }) => !userOnly);
  });
  return rules.map((rule, rank) => ({ rank, ...rule }));
}

export function divided(rules: readonly OutputRule[]): OutputRules {
  const enforces = (rule: OutputRule) => rule.action !== "flag" && !isAudit(rule);
  return { enforced: rules.filter(enforces), reporting: rules.filter((rule) => !enforces(rule)) };
}

/** UTF-16 units that all of them together can read without others waiting for long. */
export function jointPieceLength(rules: readonly OutputRule[]): number {
  const share = rules.reduce((sum, { finder }) => sum + 1 / pieceLengthOf(finder), 0);
  return Math.max(1, Math.floor(1 / share));
}
