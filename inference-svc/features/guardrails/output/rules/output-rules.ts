/** The caller's guardrail rules for answers. */
import { onlyReports } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { pieceLengthOf } from "@sluice/proto/lib/pattern/finder.js";
import { guardrailsFor, isAudit, hasFiltersFor } from "../../../../turn/applied-guardrails.ts";
import { guardrailUnavailable } from "../../not-applicable.ts";
import { type FilterRule, RuleMemo, failsOpen, buildRules } from "../../filter-rules.ts";
import type { Report } from "./report.ts";

export interface OutputRule extends FilterRule {
  /** Order of the rules: among overlapping matches of equal length, the rule with the lowest rank provides the placeholder. */
  readonly rank: number;
}

/** The guardrail rules for one turn's answer, divided by their effect. */
export interface OutputRules {
  readonly all: readonly OutputRule[];
  /** Rules that change or block the answer. */
  readonly enforced: readonly OutputRule[];
  /** Rules that only report. */
  readonly reporting: readonly OutputRule[];
  /** Whether a rule needs a detector service. */
  readonly usesService: boolean;
  /** UTF-16 units that all rules together can scan before the turn pauses for others. */
  readonly pieceLength: number;
}

/**
 * The rules for answers; empty when no guardrail scans them. A rule that cannot be applied is reported.
 * @throws Fault UNAVAILABLE when a rule cannot be applied and its guardrail fails closed
 */
export function buildOutputRules(caller: Caller, report: Report): readonly OutputRule[] {
  const known = knownRules.get(caller);
  if (known) return known;
  let isWhole = true;
  const applied = guardrailsFor(caller).filter((guardrail) => hasFiltersFor(guardrail, "output"));
  const rules = applied.flatMap((guardrail) => {
    const { rules: applicable, failures } = buildRules(guardrail);
    if (failures.length > 0) report.addFailure(guardrail);
    isWhole &&= failures.length === 0;
    if (failures.length > 0 && !failsOpen(guardrail)) throw guardrailUnavailable(failures[0]);
    return applicable.filter(({ userOnly }) => !userOnly);
  });
  const ranked = rules.map((rule, rank) => ({ rank, ...rule }));
  if (isWhole) knownRules.set(caller, ranked);
  return ranked;
}

const knownRules = new RuleMemo<Caller, readonly OutputRule[]>();
const divided = new WeakMap<readonly OutputRule[], OutputRules>();

export function divideRules(rules: readonly OutputRule[]): OutputRules {
  let parts = divided.get(rules);
  if (parts === undefined) divided.set(rules, (parts = divide(rules)));
  return parts;
}

function divide(rules: readonly OutputRule[]): OutputRules {
  const enforced = rules.filter(isEnforced);
  const reporting = rules.filter((rule) => !isEnforced(rule));
  const all = [...enforced, ...reporting];
  return { all, enforced, reporting, usesService: all.some(usesService), pieceLength: combinedPieceLength(all) };
}

/** Whether the rule changes or blocks the answer. */
export const isEnforced = (rule: OutputRule): boolean => !onlyReports(rule.action) && !isAudit(rule);

const usesService = ({ outage }: OutputRule): boolean => outage !== undefined;

/** Rules without a detector service: a service must see a complete text, and is not called again for its parts. */
export const localRulesOf = (rules: readonly OutputRule[]): readonly OutputRule[] =>
  rules.some(usesService) ? rules.filter((rule) => !usesService(rule)) : rules;

/** UTF-16 units these rules together can scan before the turn pauses for others. */
export function combinedPieceLength(rules: readonly OutputRule[]): number {
  const share = rules.reduce((sum, { finder }) => sum + 1 / pieceLengthOf(finder), 0);
  return Math.max(1, Math.floor(1 / share));
}
