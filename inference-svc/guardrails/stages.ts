/** What guardrails did, as stages of the receipt: labels and counts, never what was matched. */
import type { Stage } from "../turn/scope.ts";
import { isAudit } from "../turn/applied.ts";
import { type Failed, type Rule, failsOpen } from "./policy.ts";

export type Deed = "blocked" | "redacted" | "flagged";

const deeds: readonly Deed[] = ["blocked", "redacted", "flagged"];

const capital = (word: string): string => word[0]?.toUpperCase() + word.slice(1);

/**
 * One for each guardrail and deed.
 * @param deedOf what a rule that found something led to
 * @param counts places by rule
 */
export function stagesOf(counts: ReadonlyMap<Rule, number>, deedOf: (rule: Rule) => Deed): Stage[] {
  const groups = new Map<string, Rule[]>();
  for (const rule of counts.keys()) {
    const key = `${deeds.indexOf(deedOf(rule))} ${rule.guardrail.id} ${rule.stage}`;
    groups.set(key, [...(groups.get(key) ?? []), rule]);
  }
  return [...groups.values()]
    .toSorted((a, b) => deeds.indexOf(deedOf(a[0] as Rule)) - deeds.indexOf(deedOf(b[0] as Rule)))
    .map((rules) => stageOf(rules, deedOf(rules[0] as Rule), counts));
}

function stageOf(rules: readonly Rule[], action: Deed, counts: ReadonlyMap<Rule, number>): Stage {
  const [first] = rules as [Rule];
  const patterns = namesOf(rules);
  const what = `${patterns.length} ${patterns.length === 1 ? "pattern" : "patterns"}`;
  const audit = isAudit(first);
  return {
    type: "guardrail",
    name: first.stage,
    guardrail_id: first.guardrail.id,
    guardrail_scope: first.scope,
    summary: audit ? `Would have ${action}: ${what}` : `${capital(action)}: ${what}`,
    data: {
      action,
      detected: true,
      engines: [...new Set(rules.map((rule) => rule.engine))],
      patterns,
      ...(action !== "blocked" && { counts: countsOf(rules, counts) }),
      ...(audit && { mode: "audit" }),
    },
  };
}

/** What rules are called, each name once. */
export const namesOf = (rules: readonly Rule[]): string[] => [...new Set(rules.map((rule) => rule.name))];

function countsOf(rules: readonly Rule[], counts: ReadonlyMap<Rule, number>): Record<string, number> {
  const sums = new Map<string, number>();
  for (const rule of rules) sums.set(rule.name, (sums.get(rule.name) ?? 0) + (counts.get(rule) ?? 0));
  return Object.fromEntries(sums);
}

/** A guardrail or rule that could not look: nobody may take that for a clean text. */
export function failureStage(failed: Failed): Stage {
  const { guardrail, scope, name, engine, outage = "not looked at" } = failed;
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
