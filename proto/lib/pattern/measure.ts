/** Measures the size of a program before it is built, because nested repetitions multiply. */
import type { AST } from "@eslint-community/regexpp";
import { PatternError, notLinearError } from "./refusal.ts";

/** Maximum number of states: a text can keep all of them alive, and each takes some nanoseconds per character. */
export const maxStates = 20_000;

export interface Measure {
  /** Number of instructions in the program. */
  readonly states: number;
  /** Whether the node can match the empty string. */
  readonly nullable: boolean;
  /** Whether the node can match a character. */
  readonly consuming: boolean;
  /** Whether the node prefers the empty match although it could match more, as `|a` and `a??` do. */
  readonly idle: boolean;
}

/**
 * Size of an element that must match at least one character: it is emitted twice, before and after its first character,
 * with an end in between.
 */
const statesOfNonEmpty = ({ states }: Measure): number => 2 * states + 1;

/** The measure of each node of a pattern. */
export type Measures = ReadonlyMap<AST.Node, Measure>;

/** Measures a pattern. @throws PatternError when it is too large or cannot be matched in linear time */
export function measure(root: AST.Pattern): Measures {
  const measures = new Map<AST.Node, Measure>();
  const { states } = record(root, measures);
  if (states > maxStates) throw new PatternError(`too complex: more than ${maxStates} states`);
  return measures;
}

function record(node: AST.Node, measures: Map<AST.Node, Measure>): Measure {
  const found = measureNode(node, measures);
  measures.set(node, found);
  return found;
}

function measureNode(node: AST.Node, measures: Map<AST.Node, Measure>): Measure {
  switch (node.type) {
    case "Character":
    case "CharacterSet":
    case "CharacterClass":
      return { states: 1, nullable: false, consuming: true, idle: false };
    case "Assertion":
      if (node.kind === "lookahead" || node.kind === "lookbehind") throw notLinearError("look-around is");
      return { states: 1, nullable: true, consuming: false, idle: false };
    case "Pattern":
    case "Group":
    case "CapturingGroup":
      return measureAlternatives(node.alternatives.map((alternative) => record(alternative, measures)));
    case "Alternative":
      return measureSequence(node.elements.map((element) => record(element, measures)));
    case "Quantifier":
      return measureRepeat(node, record(node.element, measures));
    case "Backreference":
      throw notLinearError("back-references are");
    default:
      throw new PatternError(`not a valid pattern: ${node.raw}`);
  }
}

const measureAlternatives = (all: readonly Measure[]): Measure => ({
  states: sum(all) + 2 * (all.length - 1),
  nullable: all.some(({ nullable }) => nullable),
  consuming: all.some(({ consuming }) => consuming),
  idle: all.some(
    ({ nullable, idle }, index) => idle || (nullable && all.slice(index + 1).some(({ consuming }) => consuming)),
  ),
});

const measureSequence = (all: readonly Measure[]): Measure => ({
  states: sum(all),
  nullable: all.every(({ nullable }) => nullable),
  consuming: all.some(({ consuming }) => consuming),
  idle: all.every(({ nullable }) => nullable) && all.some(({ idle }) => idle),
});

const sum = (all: readonly Measure[]): number => all.reduce((total, { states }) => total + states, 0);

function measureRepeat({ min, max, greedy }: AST.Quantifier, element: Measure): Measure {
  const { states, consuming } = element;
  // Even an empty element is walked once for each repetition.
  const fixed = min * Math.max(states, 1);
  const nullable = element.nullable || min === 0;
  return {
    states: fixed + statesOfOptional(min, max, element),
    nullable,
    consuming: consuming && max > 0,
    idle: nullable && ((min > 0 && element.idle) || (!greedy && consuming && max > min)),
  };
}

/**
 * Size of the optional repetitions: a split for each copy; for a loop, a split and a jump, or only a split if it
 * repeats the last copy.
 */
function statesOfOptional(min: number, max: number, element: Measure): number {
  const states = element.idle ? statesOfNonEmpty(element) : element.states;
  if (max !== Number.POSITIVE_INFINITY) return (max - min) * (states + 1);
  return min > 0 && !element.nullable ? 1 : states + 2;
}
