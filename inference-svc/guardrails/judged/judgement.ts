/** What a judge holds of texts under several rules, and what follows from it. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Occasion } from "../../internal/call.ts";
import { NoVerdict } from "../../internal/inquiry.ts";
import type { Judge } from "../../internal/judge.ts";
import type { Stage } from "../../turn/scope.ts";
import { isAudit } from "../../turn/applied.ts";
import { notApplicable, serviceRetryMs } from "../not-applicable.ts";
import { failsOpen } from "../policy.ts";
import type { JudgedRule } from "./rules.ts";

/** Of one rule over all texts. */
export interface Finding {
  readonly rule: JudgedRule;
  readonly outcome: "broken" | "followed" | "none" | "unasked";
  /** Why there is no verdict. */
  readonly cause?: unknown;
}

/** Nobody is asked. @param cause why; undefined in a dry run, which no rule refuses that was not judged by */
export const unfound = (rules: readonly JudgedRule[], cause: NoVerdict | undefined): readonly Finding[] =>
  rules.map((rule) => (cause === undefined ? { rule, outcome: "unasked" } : { rule, outcome: "none", cause }));

/** @throws Fault when the turn is over */
export async function findingsOf(
  judge: Judge | undefined,
  rules: readonly JudgedRule[],
  texts: readonly string[],
  occasion: Occasion,
): Promise<readonly Finding[]> {
  return Promise.all(rules.map((rule) => findingOf(judge, rule, texts, occasion)));
}

async function findingOf(
  judge: Judge | undefined,
  rule: JudgedRule,
  texts: readonly string[],
  occasion: Occasion,
): Promise<Finding> {
  if (judge === undefined) return { rule, outcome: "none", cause: new NoVerdict("no model has the role guard_judge") };
  const asked = await Promise.allSettled(texts.map((text) => judge.probability(rule.rule, text, occasion)));
  if (asked.some((answer) => answer.status === "fulfilled" && answer.value >= rule.threshold))
    return { rule, outcome: "broken" };
  const failed = asked.find((answer) => answer.status === "rejected");
  if (failed === undefined) return { rule, outcome: "followed" };
  const cause: unknown = failed.reason;
  if (!(cause instanceof NoVerdict)) throw cause;
  return { rule, outcome: "none", cause };
}

/** What the findings led to, for the receipt; and what the request or answer is refused with, if it is. */
export interface Judgement {
  readonly stages: readonly Stage[];
  /** GUARDRAIL_BLOCKED, or UNAVAILABLE where a rule that could not be judged by refuses. */
  readonly refusal: Fault | undefined;
}

/** @param what is refused by a block */
export function judgementOf(
  findings: readonly Finding[],
  judge: Judge | undefined,
  what: "Request" | "Response",
): Judgement {
  const stages = findings.filter(({ outcome }) => outcome !== "followed").map((finding) => stageOf(finding, judge));
  const blocking = findings.filter(
    ({ rule, outcome }) => outcome === "broken" && rule.action === "block" && !isAudit(rule),
  );
  if (blocking.length > 0)
    return {
      stages,
      refusal: blocked(
        what,
        blocking.map(({ rule }) => rule.name),
      ),
    };
  const unjudged = findings.find((finding) => finding.outcome === "none" && !passes(finding));
  return { stages, refusal: unjudged && notApplicable(unjudged.cause, serviceRetryMs) };
}

/** A rule that only reports never stands in the way. */
const passes = ({ rule }: Finding): boolean => rule.action === "flag" || failsOpen(rule);

function stageOf(finding: Finding, judge: Judge | undefined): Stage {
  const { rule, outcome } = finding;
  const failed = outcome === "none";
  const mode = passes(finding) ? "open" : "closed";
  return {
    type: "guardrail",
    name: "judge",
    guardrail_id: rule.guardrail.id,
    guardrail_scope: rule.scope,
    summary: summaryOf(finding),
    data: {
      action: actions[outcome] ?? deedOf(rule),
      detected: outcome === "broken",
      engines: judge ? [`judge:${judge.model}`] : [],
      patterns: [rule.name],
      ...(failed && { fail_mode: mode }),
      ...(judge && { calibration: judge.calibration }),
      ...(isAudit(rule) && { mode: "audit" }),
    },
  };
}

const actions: Readonly<Partial<Record<Finding["outcome"], string>>> = { none: "error", unasked: "not_run" };

const deedOf = ({ action }: JudgedRule): string => (action === "block" ? "blocked" : "flagged");

function summaryOf(finding: Finding): string {
  const { rule, outcome } = finding;
  if (outcome === "unasked") return "Not judged: a dry run asks nobody";
  if (outcome === "none") return `Error: not judged, ${passes(finding) ? "let through" : "refused"}`;
  return isAudit(rule) ? `Would have ${deedOf(rule)}: 1 rule` : `${capital(deedOf(rule))}: 1 rule`;
}

const capital = (word: string): string => word[0]?.toUpperCase() + word.slice(1);

const blocked = (what: string, names: readonly string[]): Fault =>
  new Fault(FaultReason.GUARDRAIL_BLOCKED, `${what} blocked by guardrail rule: ${names[0]}`, {
    origin: FaultOrigin.CLIENT,
    metadata: { patterns: [...new Set(names)] },
  });
