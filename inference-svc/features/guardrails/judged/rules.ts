/** The caller's guardrail rules that are written in words and decided by a judge model. */
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
  /** Minimum probability of a broken rule. */
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

/** A text without a place for the match cannot be redacted: it is refused instead. */
const toJudgeAction = (action: RuleAction): RuleAction => (action.redacts ? filterActions.of("block") : action);
