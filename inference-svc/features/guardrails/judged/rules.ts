/** The caller's guardrail rules written in words, which a judge model decides. */
import { type RuleAction, actionOrBlock, filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { Caller, JudgeRule } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  type AppliedGuardrail,
  guardrailsFor,
  type ScannedSide,
  appliesToSide,
} from "../../../turn/applied-guardrails.ts";

export interface JudgedRule extends AppliedGuardrail {
  readonly rule: string;
  readonly action: RuleAction;
  /** Minimum probability at which the rule counts as broken. */
  readonly threshold: number;
  /** The rule's name in answers and receipts: its label, or else its text. */
  readonly name: string;
}

export const buildJudgedRules = (caller: Caller, side: ScannedSide): readonly JudgedRule[] =>
  guardrailsFor(caller)
    .filter((applied) => appliesToSide(applied, side))
    .flatMap((applied) => applied.guardrail.judgeRules.map((rule) => buildRule(applied, rule)));

const buildRule = (applied: AppliedGuardrail, { rule, action, threshold, label }: JudgeRule): JudgedRule => ({
  ...applied,
  rule,
  action: toJudgeAction(actionOrBlock(action)),
  threshold,
  name: label || rule,
});

/** The action of a rule in words. A judge gives no place to redact, so such a rule blocks instead. */
const toJudgeAction = (action: RuleAction): RuleAction => (action.redacts ? filterActions.of("block") : action);
