/** Rules in words that a request is under. */
import { filterActions } from "@sluice/proto/contract/guardrail-words.js";
import type { Caller, JudgeRule } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { type Applied, appliedTo } from "../../turn/applied.ts";
import { type Side, covers } from "../policy.ts";

export interface JudgedRule extends Applied {
  readonly rule: string;
  /** Block is also what an action of a newer admin-svc is taken for: it is not ours to pass over. */
  readonly action: "block" | "flag";
  /** The probability at or above which it counts as broken. */
  readonly threshold: number;
  /** Told to clients: the label, else the rule. */
  readonly name: string;
}

export const judgedRules = (caller: Caller, side: Side): readonly JudgedRule[] =>
  appliedTo(caller)
    .filter((applied) => covers(applied, side))
    .flatMap((applied) => applied.guardrail.judgeRules.map((rule) => ruleOf(applied, rule)));

const ruleOf = (applied: Applied, { rule, action, threshold, label }: JudgeRule): JudgedRule => ({
  ...applied,
  rule,
  action: filterActions.wordOf(action) === "flag" ? "flag" : "block",
  threshold,
  name: label || rule,
});
