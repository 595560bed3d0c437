/** Which rules can be read together: patterns, of which many cost little more than one. */
import type { Automaton } from "@sluice/proto/runtime/pattern/automaton.js";
import { Joint, mostJoined } from "@sluice/proto/runtime/pattern/joint.js";
import type { OutputRule } from "./rules.ts";

export interface Together {
  readonly groups: readonly { readonly rules: readonly OutputRule[]; readonly joint: Joint }[];
  readonly single: readonly OutputRule[];
  /** They read a text only as it is, and all of it before its end. */
  readonly asking: readonly OutputRule[];
}

/** Keys under the same guardrails share them; one takes some three megabytes at most. */
const maxJoints = 50;

/** By the patterns, in the order of their last use. */
const joints = new Map<string, Joint>();
const names = new WeakMap<Automaton, number>();
let named = 0;

/** A turn asks for the same ones with each of its texts. */
const known = new WeakMap<readonly OutputRule[], Together>();

export function togetherOf(rules: readonly OutputRule[]): Together {
  const before = known.get(rules);
  if (before) return before;
  const together = divided(rules);
  known.set(rules, together);
  return together;
}

function divided(rules: readonly OutputRule[]): Together {
  const asking = rules.filter(({ outage }) => outage !== undefined);
  const looking = rules.filter(({ outage }) => outage === undefined);
  const joinable = looking.filter(({ finder }) => finder.automaton !== undefined);
  // One alone is found faster by itself.
  if (joinable.length < 2) return { groups: [], single: looking, asking };
  const groups: { rules: readonly OutputRule[]; joint: Joint }[] = [];
  for (let at = 0; at < joinable.length; at += mostJoined) {
    const group = joinable.slice(at, at + mostJoined);
    groups.push({ rules: group, joint: jointOf(group.map(({ finder }) => finder.automaton as Automaton)) });
  }
  return { groups, single: looking.filter(({ finder }) => finder.automaton === undefined), asking };
}

function jointOf(automata: readonly Automaton[]): Joint {
  const name = automata.map(nameOf).join(" ");
  const joint = joints.get(name) ?? new Joint(automata);
  joints.delete(name);
  joints.set(name, joint);
  const oldest = joints.keys().next();
  if (joints.size > maxJoints && oldest.done !== true) joints.delete(oldest.value);
  return joint;
}

function nameOf(automaton: Automaton): number {
  const before = names.get(automaton);
  if (before !== undefined) return before;
  names.set(automaton, ++named);
  return named;
}
