/** Groups the rules of a turn into combined automata where possible: many patterns then cost little more than one. */
import type { Automaton } from "@sluice/proto/lib/pattern/automaton.js";
import { JointAutomaton, maxMembers } from "@sluice/proto/lib/pattern/joint.js";
import type { OutputRule } from "./output-rules.ts";

export interface RuleGroups {
  readonly groups: readonly { readonly rules: readonly OutputRule[]; readonly joint: JointAutomaton }[];
  readonly single: readonly OutputRule[];
  /** Rules of detector services. They read only the raw text, and must have read all of it before it ends. */
  readonly serviceRules: readonly OutputRule[];
}

/** Maximum cached automata of up to 4 MB each; keys with the same guardrails share them. */
const maxJoints = 50;

/** Combined automata by the ids of their patterns, least recently used first. */
const joints = new Map<string, JointAutomaton>();
const automatonIds = new WeakMap<Automaton, number>();
let lastId = 0;

/** Groups by list of rules, since every text of a turn needs the same groups. */
const groupsByRules = new WeakMap<readonly OutputRule[], RuleGroups>();

export function groupRules(rules: readonly OutputRule[]): RuleGroups {
  const before = groupsByRules.get(rules);
  if (before) return before;
  const together = buildGroups(rules);
  groupsByRules.set(rules, together);
  return together;
}

function buildGroups(rules: readonly OutputRule[]): RuleGroups {
  const serviceRules = rules.filter(({ outage }) => outage !== undefined);
  const localRules = rules.filter(({ outage }) => outage === undefined);
  const joinable = localRules.filter(({ finder }) => finder.automaton !== undefined);
  // A single pattern is faster without a combined automaton.
  if (joinable.length < 2) return { groups: [], single: localRules, serviceRules };
  const groups: { rules: readonly OutputRule[]; joint: JointAutomaton }[] = [];
  for (let at = 0; at < joinable.length; at += maxMembers) {
    const group = joinable.slice(at, at + maxMembers);
    groups.push({ rules: group, joint: cachedJoint(group.map(({ finder }) => finder.automaton as Automaton)) });
  }
  return { groups, single: localRules.filter(({ finder }) => finder.automaton === undefined), serviceRules };
}

function cachedJoint(automata: readonly Automaton[]): JointAutomaton {
  const name = automata.map(idOf).join(" ");
  const joint = joints.get(name) ?? new JointAutomaton(automata);
  joints.delete(name);
  joints.set(name, joint);
  const oldest = joints.keys().next();
  if (joints.size > maxJoints && oldest.done !== true) joints.delete(oldest.value);
  return joint;
}

function idOf(automaton: Automaton): number {
  const before = automatonIds.get(automaton);
  if (before !== undefined) return before;
  automatonIds.set(automaton, ++lastId);
  return lastId;
}
