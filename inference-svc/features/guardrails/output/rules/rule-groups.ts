/** Groups patterns into one automaton where possible: many then cost little more than one. */
import type { Automaton } from "@sluice/proto/lib/pattern/automaton.js";
import { JointAutomaton, maxMembers } from "@sluice/proto/lib/pattern/joint.js";
import type { OutputRule } from "./output-rules.ts";

export interface RuleGroups {
  readonly groups: readonly { readonly rules: readonly OutputRule[]; readonly joint: JointAutomaton }[];
  readonly single: readonly OutputRule[];
  /** Rules of detector services. They read only the raw text, completely, before it ends. */
  readonly serviceRules: readonly OutputRule[];
}

/** Cache size. Keys with the same guardrails share entries of up to 4 MB each. */
const maxJoints = 50;

/** Combined automata by the ids of their patterns, least recently used first. */
const joints = new Map<string, JointAutomaton>();
const automatonIds = new WeakMap<Automaton, number>();
let lastId = 0;

/** Every text of a turn asks for the same groups. */
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
  // A single pattern is scanned faster by itself.
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
