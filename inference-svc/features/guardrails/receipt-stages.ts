/** Builds the receipt stages of guardrails: names and counts, never the matched text. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import { type RuleAction, filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { RuleMatch, Stage } from "../../turn/trace.ts";
import { isAudit } from "../../turn/applied-guardrails.ts";
import { type ScanFailure, type FilterRule, failsOpen } from "./filter-rules.ts";

export const buildMatch = ({ guardrail, name, action, engine }: FilterRule, { start, end }: TextSpan): RuleMatch => ({
  guardrailId: guardrail.id,
  rule: name,
  action: action.word,
  engine,
  start,
  end,
});

const capitalize = (word: string): string => word[0]?.toUpperCase() + word.slice(1);

/**
 * Builds one stage for each guardrail and action, the most severe action first.
 * @param actionOf returns the action taken for a matched rule
 * @param counts number of matches per rule
 */
export function buildStages(
  counts: ReadonlyMap<FilterRule, number>,
  actionOf: (rule: FilterRule) => RuleAction,
): Stage[] {
  const groups = new Map<string, FilterRule[]>();
  const rankOf = ([first]: readonly FilterRule[]) => filterActions.rows.indexOf(actionOf(first as FilterRule));
  for (const rule of counts.keys()) {
    const key = `${actionOf(rule).word} ${rule.guardrail.id} ${rule.stage}`;
    groups.set(key, [...(groups.get(key) ?? []), rule]);
  }
  return [...groups.values()]
    .toSorted((a, b) => rankOf(a) - rankOf(b))
    .map((rules) => buildStage(rules, actionOf(rules[0] as FilterRule), counts));
}

function buildStage(
  rules: readonly FilterRule[],
  { done, stops }: RuleAction,
  counts: ReadonlyMap<FilterRule, number>,
): Stage {
  const [first] = rules as [FilterRule];
  const patterns = uniqueNames(rules);
  const what = `${patterns.length} ${patterns.length === 1 ? "pattern" : "patterns"}`;
  const audit = isAudit(first);
  return {
    type: "guardrail",
    name: first.stage,
    guardrail_id: first.guardrail.id,
    guardrail_scope: first.scope,
    summary: audit ? `Would have ${done}: ${what}` : `${capitalize(done)}: ${what}`,
    data: {
      action: done,
      detected: true,
      engines: [...new Set(rules.map((rule) => rule.engine))],
      patterns,
      ...(!stops && { counts: sumCounts(rules, counts) }),
      ...(audit && { mode: "audit" }),
    },
  };
}

/** The names of the rules, without duplicates. */
export const uniqueNames = (rules: readonly FilterRule[]): string[] => [...new Set(rules.map((rule) => rule.name))];

function sumCounts(rules: readonly FilterRule[], counts: ReadonlyMap<FilterRule, number>): Record<string, number> {
  const sums = new Map<string, number>();
  for (const rule of rules) sums.set(rule.name, (sums.get(rule.name) ?? 0) + (counts.get(rule) ?? 0));
  return Object.fromEntries(sums);
}

/** Builds the stage of a guardrail or rule that could not scan, so an unscanned text does not look clean. */
export function buildFailureStage(failed: ScanFailure): Stage {
  const { guardrail, scope, name, engine, outage = "not scanned" } = failed;
  const failMode = failsOpen(failed) ? "open" : "closed";
  return {
    type: "guardrail",
    name: "content-filter",
    guardrail_id: guardrail.id,
    guardrail_scope: scope,
    summary: `Error: ${outage}, ${failMode === "open" ? "let through" : "refused"}`,
    data: {
      action: "error",
      ...(failed.outage !== undefined && { detected: false, engines: [engine], patterns: [name] }),
      fail_mode: failMode,
      ...(isAudit(failed) && { mode: "audit" }),
    },
  };
}
