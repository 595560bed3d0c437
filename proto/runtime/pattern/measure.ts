/** How large a program becomes, before it is made: repeats of repeats multiply. */
import type { AST } from "@eslint-community/regexpp";
import { PatternError, notLinear } from "./refusal.ts";

/** A text can keep every state alive, and each then costs some nanoseconds a character. */
export const maxStates = 20_000;

export interface Measure {
  /** Instructions. */
  readonly states: number;
  /** Whether it can match nothing. */
  readonly nullable: boolean;
  /** Whether it can match a character. */
  readonly consuming: boolean;
  /** Whether it matches nothing rather than something that it could match as well: `|a`, `a??`. */
  readonly idle: boolean;
}

/** Of what matches a character at least: it is written twice, before and behind its first one, with an end between. */
const statesOfSome = ({ states }: Measure): number => 2 * states + 1;

/** Of every node that takes part, by the node. */
export type Measures = ReadonlyMap<AST.Node, Measure>;

/** @throws PatternError when it is too large, or asks for what cannot be done in linear time */
export function measure(root: AST.Pattern): Measures {
  const measures = new Map<AST.Node, Measure>();
  const { states } = measured(root, measures);
  if (states > maxStates) throw new PatternError(`too complex: more than ${maxStates} states`);
  return measures;
}

function measured(node: AST.Node, measures: Map<AST.Node, Measure>): Measure {
  const found = measureOf(node, measures);
  measures.set(node, found);
  return found;
}

function measureOf(node: AST.Node, measures: Map<AST.Node, Measure>): Measure {
  switch (node.type) {
    case "Character":
    case "CharacterSet":
    case "CharacterClass":
      return { states: 1, nullable: false, consuming: true, idle: false };
    case "Assertion":
      if (node.kind === "lookahead" || node.kind === "lookbehind") throw notLinear("look-around is");
      return { states: 1, nullable: true, consuming: false, idle: false };
    case "Pattern":
    case "Group":
    case "CapturingGroup":
      return either(node.alternatives.map((alternative) => measured(alternative, measures)));
    case "Alternative":
      return inARow(node.elements.map((element) => measured(element, measures)));
    case "Quantifier":
      return repeated(node, measured(node.element, measures));
    case "Backreference":
      throw notLinear("back-references are");
    default:
      throw new PatternError(`not a valid pattern: ${node.raw}`);
  }
}

const either = (all: readonly Measure[]): Measure => ({
  states: sum(all) + 2 * (all.length - 1),
  nullable: all.some(({ nullable }) => nullable),
  consuming: all.some(({ consuming }) => consuming),
  idle: all.some(
    ({ nullable, idle }, index) => idle || (nullable && all.slice(index + 1).some(({ consuming }) => consuming)),
  ),
});

const inARow = (all: readonly Measure[]): Measure => ({
  states: sum(all),
  nullable: all.every(({ nullable }) => nullable),
  consuming: all.some(({ consuming }) => consuming),
  idle: all.every(({ nullable }) => nullable) && all.some(({ idle }) => idle),
});

const sum = (all: readonly Measure[]): number => all.reduce((total, { states }) => total + states, 0);

function repeated({ min, max, greedy }: AST.Quantifier, element: Measure): Measure {
  const { states, consuming } = element;
  // Even what is empty is gone through as often as it says.
  const fixed = min * Math.max(states, 1);
  const nullable = element.nullable || min === 0;
  return {
    states: fixed + restOf(min, max, element),
    nullable,
    consuming: consuming && max > 0,
    idle: nullable && ((min > 0 && element.idle) || (!greedy && consuming && max > min)),
  };
}

/** Of what may be left out or come again: a split for every copy, for a loop that and a jump, for one over the last copy only the split. */
function restOf(min: number, max: number, element: Measure): number {
  const states = element.idle ? statesOfSome(element) : element.states;
  if (max !== Number.POSITIVE_INFINITY) return (max - min) * (states + 1);
  return min > 0 && !element.nullable ? 1 : states + 2;
}
