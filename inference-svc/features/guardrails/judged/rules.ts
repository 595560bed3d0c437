/** The caller's guardrail rules that are written in words and decided by a judge model. */
import { filterActions } from "@sluice/proto/contract/records/guardrail-words.js";
import type { Caller, JudgeRule } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  type AppliedGuardrail,
  guardrailsFor,
  type ScannedSide,
  appliesToSide,
} from "../../../turn/applied-guardrails.ts";

export interface JudgedRule extends AppliedGuardrail {
  readonly rule: string;
  /** An action unknown to this version counts as block: a newer admin-svc may send it, and ignoring it would weaken the guardrail. */
  readonly action: "block" | "flag";
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
  action: filterActions.wordOf(action) === "flag" ? "flag" : "block",
  threshold,
  name: label || rule,
});
