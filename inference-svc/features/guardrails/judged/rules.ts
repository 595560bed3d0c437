/** The caller's guardrail rules that are written in words and decided by a judge model. */
import { filterActions } from "@sluice/proto/contract/records/guardrail-words.js";
import type { Caller, JudgeRule } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { type Applied, appliedTo, type Side, covers } from "../../../turn/applied-guardrails.ts";

export interface JudgedRule extends Applied {
  readonly rule: string;
  /** An action unknown to this version counts as block: a newer admin-svc may send it, and ignoring it would weaken the guardrail. */
  readonly action: "block" | "flag";
  /** Minimum probability of a broken rule. */
  readonly threshold: number;
  /** The rule's name in answers and receipts: its label, or else its text. */
  readonly name: string;
}

export const buildJudgedRules = (caller: Caller, side: Side): readonly JudgedRule[] =>
  appliedTo(caller)
    .filter((applied) => covers(applied, side))
    .flatMap((applied) => applied.guardrail.judgeRules.map((rule) => buildRule(applied, rule)));

const buildRule = (applied: Applied, { rule, action, threshold, label }: JudgeRule): JudgedRule => ({
  ...applied,
  rule,
  action: filterActions.wordOf(action) === "flag" ? "flag" : "block",
  threshold,
  name: label || rule,
});
