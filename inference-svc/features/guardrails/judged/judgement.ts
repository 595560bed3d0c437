/** Collects a judge's verdicts on texts under several rules, and derives the stages for the receipt or the refusal. */
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { onlyReports } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { CallContext } from "../../../models/internal-calls/internal-call.ts";
import { JudgeUnavailable } from "../../../models/internal-calls/judge-client.ts";
import type { Judge, JudgeProfile } from "../../../models/internal-calls/judge.ts";
import type { Stage } from "../../../turn/trace.ts";
import { isAudit } from "../../../turn/applied-guardrails.ts";
import { buildBlockFault } from "../block-fault.ts";
import { guardrailUnavailable } from "../not-applicable.ts";
import { failsOpen } from "../filter-rules.ts";
import type { JudgedRule } from "./rules.ts";
import { serviceRetryMs } from "../../../models/internal-calls/retry-hint.ts";

/** The worst verdict on one rule, over all texts. */
export interface JudgeFinding {
  readonly rule: JudgedRule;
  readonly outcome: "broken" | "followed" | "none" | "unasked";
  /** Why there is no verdict; set only for the outcome `none`. */
  readonly cause?: unknown;
}

/**
 * Findings for rules whose judge was not called.
 * @param cause the reason; undefined in a dry run, which does not count as a failure of the rule
 */
export const findingsWithoutVerdict = (
  rules: readonly JudgedRule[],
  cause: JudgeUnavailable | undefined,
): readonly JudgeFinding[] =>
  rules.map((rule) => (cause === undefined ? { rule, outcome: "unasked" } : { rule, outcome: "none", cause }));

/** Judges texts under several rules. @throws Fault when the turn is over */
export async function judgeTexts(
  judge: Judge | undefined,
  rules: readonly JudgedRule[],
  texts: readonly string[],
  occasion: CallContext,
): Promise<readonly JudgeFinding[]> {
  return Promise.all(rules.map((rule) => judgeRule(judge, rule, texts, occasion)));
}

async function judgeRule(
  judge: Judge | undefined,
  rule: JudgedRule,
  texts: readonly string[],
  occasion: CallContext,
): Promise<JudgeFinding> {
  if (judge === undefined)
    return { rule, outcome: "none", cause: new JudgeUnavailable("internal_models.guard_judge names no model") };
  const verdicts = await Promise.allSettled(texts.map((text) => judge.probability(rule.rule, text, occasion)));
  if (verdicts.some((answer) => answer.status === "fulfilled" && answer.value >= rule.threshold))
    return { rule, outcome: "broken" };
  const failed = verdicts.find((answer) => answer.status === "rejected");
  if (failed === undefined) return { rule, outcome: "followed" };
  const cause: unknown = failed.reason;
  if (!(cause instanceof JudgeUnavailable)) throw cause;
  return { rule, outcome: "none", cause };
}

/** Stages for the receipt, and the fault if the request or answer is refused. */
export interface Judgement {
  readonly stages: readonly Stage[];
  /** GUARDRAIL_BLOCKED for a broken rule; UNAVAILABLE for a rule that has no verdict and fails closed. */
  readonly refusal: Fault | undefined;
}

/** @param what name in error messages for what is blocked, such as the request */
export function buildJudgement(
  findings: readonly JudgeFinding[],
  judge: JudgeProfile | undefined,
  what: "Request" | "Response",
): Judgement {
  const stages = findings.filter(({ outcome }) => outcome !== "followed").map((finding) => buildStage(finding, judge));
  const blocking = findings.filter(({ rule, outcome }) => outcome === "broken" && rule.action.stops && !isAudit(rule));
  const [first] = blocking;
  if (first !== undefined)
    return {
      stages,
      refusal: buildBlockFault(
        `${what} blocked by guardrail rule: ${first.rule.name}`,
        blocking.map(({ rule }) => rule),
      ),
    };
  const unjudged = findings.find((finding) => finding.outcome === "none" && !failsOpenFor(finding));
  return { stages, refusal: unjudged && guardrailUnavailable(unjudged.cause, serviceRetryMs) };
}

/** Whether a missing verdict lets the text pass; a rule that only reports never blocks. */
const failsOpenFor = ({ rule }: JudgeFinding): boolean => onlyReports(rule.action) || failsOpen(rule);

function buildStage(finding: JudgeFinding, judge: JudgeProfile | undefined): Stage {
  const { rule, outcome } = finding;
  const failed = outcome === "none";
  const mode = failsOpenFor(finding) ? "open" : "closed";
  return {
    type: "guardrail",
    name: "judge",
    guardrail_id: rule.guardrail.id,
    guardrail_scope: rule.scope,
    summary: summarize(finding),
    data: {
      action: actions[outcome] ?? rule.action.done,
      detected: outcome === "broken",
      engines: judge ? [`judge:${judge.model}`] : [],
      patterns: [rule.name],
      ...(failed && { fail_mode: mode }),
      ...(judge && { calibration: judge.calibration }),
      ...(isAudit(rule) && { mode: "audit" }),
    },
  };
}

const actions: Readonly<Partial<Record<JudgeFinding["outcome"], string>>> = { none: "error", unasked: "not_run" };

function summarize(finding: JudgeFinding): string {
  const { rule, outcome } = finding;
  if (outcome === "unasked") return "Not judged: a dry run calls no model";
  if (outcome === "none") return `Error: not judged, ${failsOpenFor(finding) ? "let through" : "refused"}`;
  return isAudit(rule) ? `Would have ${rule.action.done}: 1 rule` : `${capitalize(rule.action.done)}: 1 rule`;
}

const capitalize = (word: string): string => word[0]?.toUpperCase() + word.slice(1);
